# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from an intent file and a build to the file as it would have to be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.cli.intent_checking import build_configuration, file_of
from linesmith.analyzer.cli.kernels import Running
from linesmith.analyzer.cli.linting import root_of, side
from linesmith.analyzer.cli.loading import load
from linesmith.analyzer.dwarf import Reading
from linesmith.analyzer.intent import applies, read_intent
from linesmith.analyzer.intent.check import unknown_members
from linesmith.analyzer.intent.rewriting import Rewrite, rewritten
from linesmith.analyzer.lint.intent_following import Followed, followed
from linesmith.analyzer.lint.intent_update import stale
from linesmith.analyzer.model import Intent
from linesmith.patches.unified import unified_diff


@dataclass(frozen=True, slots=True)
class Wish:
    """Where the intents and the configuration are, the build before the change if any, and whether limits go down."""

    tree: Path | None = None
    file: Path | None = None
    kconfig: Path | None = None
    base: Path | None = None
    tighten: bool = False


@dataclass(frozen=True, slots=True)
class Updated:
    """The whole text as it would be, the ``diff`` that leads there, and ``remarks`` on names and on what is left."""

    text: str
    diff: str
    remarks: tuple[str, ...]


def updated(elf: Path, wish: Wish, running: Running) -> Updated:
    """The intents in the file that is named, else in the tree, else in the tree around us, as ``elf`` would have them.

    Raises ``IntentError`` where there are none, and what reading the files raises.
    """
    path = file_of(wish.tree or root_of(Path.cwd()), wish.file)
    intent = read_intent(path)
    reading = load(elf)
    names = followed(intent, load(wish.base).layouts, reading.layouts) if wish.base else Followed(intent)
    symbols = build_configuration(intent, elf, wish.kconfig)
    limits = stale(names.intent, side(running, reading), symbols, tightened=wish.tighten)
    # What markers say now comes after what was only renamed.
    wanted = {one.path: one for one in (*names.rewrites, *limits)}
    before = path.read_bytes().decode()
    found = rewritten(before, wanted.values(), str(path))
    diff = unified_diff(before.encode(), found.text.encode(), path.name).decode()
    left = {one.path for one in found.left}
    by_hand = (_by_hand(names.intent if _name_of(one) not in left else intent, one) for one in found.left)
    return Updated(found.text, diff, (*names.told, *_gone(names.intent, reading, symbols), *by_hand))


def _gone(intent: Intent, reading: Reading, symbols: frozenset[str] | None) -> Iterator[str]:
    """Entries of records, and members in them, that the build does not have."""
    for one in filter(applies(symbols), intent.types):
        if not reading.layouts.variants(one.record):
            yield f"{one.place}: {one.record} is gone, and its entry stays as it is"
        for member in unknown_members(one, reading.layouts):
            yield f"{one.place}: {member.member} of {one.record} is not there, and its name stays as it is"


def _name_of(one: Rewrite) -> tuple[str | int, ...]:
    """Where the file names the record that is meant."""
    table, *rest = one.path
    return table, *rest[:1], "name" if table == "type" else "type"


def _by_hand(intent: Intent, one: Rewrite) -> str:
    """What a user has to write, and where; ``intent`` calls the record as the file will."""
    place, about = _entry(intent, one)
    value = ", ".join(one.value) if isinstance(one.value, tuple) else one.value
    keys = ".".join(part for part in one.path[1:] if isinstance(part, str))
    return f"{place}: {keys} of {about} stays as it is, for more than it would change; make it {value}"


def _entry(intent: Intent, one: Rewrite) -> tuple[str, str]:
    """Where what it changes stands, and what that is about."""
    table, *rest = one.path
    number = next((part for part in rest if isinstance(part, int)), 0)
    if table == "suppress":
        accepted = intent.suppressions[number]
        return accepted.place, f"what is accepted of {accepted.record}"
    if table == "type":
        return intent.types[number].place, intent.types[number].record
    return intent.path, f"[{table}]"
