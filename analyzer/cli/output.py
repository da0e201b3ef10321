# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a result goes: the terminal, or the file that ``-o`` names, never one that the command reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import click

from linesmith.analyzer.base import durable
from linesmith.analyzer.errors import OutputError

# A patch is often kept in the tree it is for; anything else there is source.
_REPLACED_IN_A_TREE = frozenset((".patch", ".diff"))
# A page is often kept in the run directory it is of, and made again.
_OUR_PAGE = b"<!DOCTYPE html>\n<!-- linesmith report -->"
_BINARY = (b"\x7fELF", b"\x9f\xeb", b"\xeb\x9f")


def deliver(content: bytes, destination: Path | None, options: Collection[str] = ("output",)) -> None:
    """Write the bytes; raises ``OutputError`` where that cannot be done or would destroy what the user owns.

    A file that is there stays as it is then. ``options`` are the names of the command's parameters that name results.
    """
    if destination is None:
        click.echo(content, nl=False)
    else:
        deliver_parts((content,), destination, options)


def deliver_parts(parts: Iterable[bytes], destination: Path, options: Collection[str]) -> None:
    """Write the parts, which need not be in memory together, as ``deliver`` does."""
    try:
        durable.check(destination)
        if destination.is_file():
            _refuse_to_destroy(destination, options)
        durable.replace_by_parts(destination, parts)
    except OSError as error:
        reason = _without_folder(destination) or f"{error.strerror}; name another file"
        raise OutputError(f"cannot write {destination}: {reason} with {_named(options)}") from None


def _without_folder(destination: Path) -> str:
    """That the folder is missing that it would be in, and what to do; empty where it is there."""
    folder = destination.parent
    return "" if folder.is_dir() else f"the folder {folder} is not there; make it, or name another file"


def _named(options: Collection[str]) -> str:
    """The option that names a result, as a user writes it."""
    return "-o" if "output" in options else " or ".join(f"--{one.replace('_', '-')}" for one in options)


def check_destinations(destinations: Sequence[Path], options: Collection[str]) -> None:
    """Raise ``OutputError`` where ``deliver`` would, before the work is done that makes the results.

    ``options`` are the names of the command's parameters that name results.
    """
    places = [destination.absolute() for destination in destinations]
    for place in places:
        if places.count(place) > 1:
            raise OutputError(f"{place} would be written twice; name different files")
        if missing := _without_folder(place):
            raise OutputError(f"cannot write {place}: {missing}")
        _check_access(place)
        if place.is_file():
            _refuse_to_destroy(place, options)


def _check_access(place: Path) -> None:
    try:
        durable.check(place)
    except OSError as error:
        raise OutputError(f"cannot write {place}: {error.strerror}; name another file") from None


def _refuse_to_destroy(existing: Path, options: Collection[str]) -> None:
    another = f"name another file with {_named(options)}"
    with existing.open("rb") as file:
        begin = file.read(len(_OUR_PAGE))
    if begin.startswith(_BINARY):
        raise OutputError(f"{existing} is an ELF or BTF file and stays as it is; {another}")
    for given in _inputs(options):
        if given.is_file() and existing.samefile(given):
            raise OutputError(f"{existing} is what this command reads and stays as it is; {another}")
        inside = given.is_dir() and existing.resolve().is_relative_to(given.resolve())
        if inside and existing.suffix not in _REPLACED_IN_A_TREE and begin != _OUR_PAGE:
            raise OutputError(f"{existing} belongs to {given}, which is only read; {another}")


def _inputs(results: Collection[str]) -> Iterator[Path]:
    """Every path among the running command's arguments and options but those that name ``results``."""
    given = click.get_current_context().params
    for name, value in given.items():
        if name not in results:
            yield from (one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, Path))
