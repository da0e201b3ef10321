# SPDX-License-Identifier: GPL-2.0-or-later
"""Protocols that plugins implement, and how bytes become text without what could steer a terminal.

A plugin imports this module, the model and the errors, nothing else.
"""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import fields, is_dataclass, replace
from functools import cache
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, runtime_checkable

from linesmith.analyzer.base.errors import ProfileError

if TYPE_CHECKING:
    from linesmith.analyzer.model import (
        Ask,
        Built,
        Done,
        Metric,
        Order,
        Profile,
        Recipe,
        Recorded,
        Session,
        Setting,
        Site,
        Snapshot,
        Space,
        Step,
        Told,
        Variant,
        Workplace,
    )

T = TypeVar("T")
Tell = Callable[[str], None]
Settings = Mapping[str, "Setting"]
# What a function needs of its worker.
BUILD = "build"
BENCH = "bench"
# What perf itself makes of a perf.data file that is not read here.
SCRIPT = "`perf script -F +pid,+addr,+data_src,+weight`"
_UTF_16 = "is text in UTF-16; convert it with `iconv -f UTF-16 -t UTF-8`"
_MAGICS = {
    b"PERFILE2": f"is a perf.data file; give the text of {SCRIPT}",
    b"2ELIFREP": f"is a perf.data file of a big-endian machine; give the text of {SCRIPT}",
    b"\xff\xfe": _UTF_16,
    b"\xfe\xff": _UTF_16,
    b"\x7fELF": "is an ELF file, not a profile; the ELF comes first, the profile second",
    b"\x1f\x8b": "is compressed with gzip; unpack it first",
    b"\xfd7zXZ": "is compressed with xz; unpack it first",
    b"\x28\xb5\x2f\xfd": "is compressed with zstd; unpack it first",
    b"BZh": "is compressed with bzip2; unpack it first",
    b"PK\x03\x04": "is a zip archive; unpack it first",
}
# What to give instead of a file that is no profile.
ADVICE = "give the perf.data itself, or the text of `perf c2c report --stdio`"
# Reports of whole machines have some megabytes.
MOST_BYTES = 256 << 20
_BLOCK_BYTES = 1 << 20
# Controls (C0, C1, DEL), line and paragraph separators, what turns the direction of writing (UAX 9), invisible
# characters and tags, halves of surrogate pairs.
UNPRINTABLE = (
    "\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
_UNPRINTABLE = re.compile(f"[{UNPRINTABLE}]")
# How a dataclass declares what holds no string, and a string of its own.
_NUMBERS, _TEXTS = frozenset(("int", "float", "bool", "None")), frozenset(("str", "None"))


@runtime_checkable
class ProfileSource(Protocol):
    """A reader of one kind of profile; those of texts decode through ``linesmith.plugins.api``."""

    name: str

    def recognises(self, head: bytes) -> bool:
        """Whether ``head``, up to 64 KiB of the file, its beginning first, looks like this kind of profile."""

    def read(self, path: Path, source: str) -> tuple[Profile, ...]:
        """Every report in the file at ``path``, in order; ``source`` names the file in messages.

        Raises ``ProfileError`` when the file holds no shared line, with the first thing that was not understood,
        ``ToolMissing`` when a program that it takes is not there, and ``OSError``.
        """


@runtime_checkable
class SnapshotSource(Protocol):
    """A reader of a kernel's memory that tells which objects lie where."""

    name: str

    def obstacle(self) -> str | None:
        """Why nothing can be read here, a sentence without its full stop that says what to do; ``None`` if it can."""

    def read(self, memory: Path, vmlinux: Path, addresses: Collection[int]) -> Snapshot:
        """The areas that hold ``addresses`` (kernel virtual), whole slab pages included.

        ``memory`` is an ELF dump of a guest (QEMU's ``dump-guest-memory``) or ``/proc/kcore``; ``vmlinux`` is the
        kernel with DWARF whose memory it is. Addresses of user space, and those whose memory cannot be known, are in
        no area. Raises ``SnapshotError`` when the memory cannot be read or is another kernel's, ``ToolMissing`` when
        a library is not installed.
        """


@runtime_checkable
class Recorder(Protocol):
    """A way to run a command and come back with a profile."""

    name: str

    def obstacle(self, order: Order) -> str | None:
        """Why this recorder cannot carry out the order here, a sentence without its full stop; ``None`` if it can."""

    def commands(self, order: Order) -> tuple[str, ...]:
        """The commands that ``record`` would run, as for a shell. Raises what ``record`` raises before it runs any."""

    def planned(self, order: Order, machine: str) -> tuple[str, ...]:
        """The same before the kernel or the program of the order is built, for CPUs of ``machine`` (as ``uname -m``).

        Addresses of a region are left out. Raises ``ToolMissing`` or ``NotRecorded``.
        """

    def record(self, order: Order, scratch: Path, tell: Callable[[str], None]) -> Recorded:
        """Run the order's command; by-products go into ``scratch``, ``tell`` hears what is being done.

        Raises ``GuestFailed`` when the command or its machine fails, ``NotRecorded`` when nothing was recorded,
        ``KernelNotBootable``, ``ElfError`` or ``ToolMissing``.
        """


@runtime_checkable
class Builder(Protocol):
    """A way to turn a source tree into something that runs. The tree is only read."""

    name: str

    def obstacle(self, recipe: Recipe) -> str | None:
        """Why this builder cannot carry out the recipe here, a sentence without its full stop; ``None`` if it can."""

    def products(self, recipe: Recipe) -> tuple[str, ...]:
        """The names of what ``build`` makes, for which the words of commands have ``{name}``."""

    def commands(self, recipe: Recipe, variant: Variant) -> tuple[str, ...]:
        """The commands that ``build`` would run, as for a shell.

        Raises ``PatchRefused`` where the variant's patches do not fit the tree, ``TreeError`` where it cannot be read.
        """

    def build(self, recipe: Recipe, variant: Variant, place: Workplace, tell: Tell) -> Built:
        """The products of this variant; those of an earlier build of the very same input are returned as they are.

        Raises ``PatchRefused``, ``BuildFailed``, ``CompilerKilled``, ``DiskFull``, ``TreeError`` or ``ToolMissing``;
        then no artifact is left, and the warm folder is good for the next build.
        """


@runtime_checkable
class Machine(Protocol):
    """Somewhere that a build is booted, or run, and commands are run with it."""

    name: str

    def obstacle(self, site: Site) -> str | None:
        """Why there is no such machine here, a sentence without its full stop; ``None`` if there is."""

    def commands(self, site: Site, built: Built, steps: Sequence[Step]) -> tuple[str, ...]:
        """The commands that ``run`` would run, as for a shell."""

    def run(self, site: Site, built: Built, steps: Sequence[Step], scratch: Path, tell: Tell) -> Session:
        """Boot once and run the steps in order; logs go into ``scratch`` and stay there.

        A step that ends with another status than 0 is a ``Done`` like any other. Raises ``GuestNotBooted``,
        ``GuestPanicked``, ``GuestHung``, ``GuestOutOfMemory``, ``GuestFailed`` or ``ToolMissing``.
        """


@runtime_checkable
class Benchmark(Protocol):
    """Something that gives numbers: it is described, run by a machine, and what it printed is parsed."""

    name: str

    def metrics(self, settings: Settings) -> tuple[Metric, ...]:
        """What it measures, the most telling first. Raises ``BenchmarkUnknown`` for settings that make no sense."""

    def obstacle(self, settings: Settings) -> str | None:
        """Why it cannot run from here, a sentence without its full stop; ``None`` if it can."""

    def steps(self, settings: Settings, threads: int, scratch: Path) -> tuple[Step, ...]:
        """The commands of one run; programs that have to be compiled first are, into ``scratch``."""

    def operations(self, settings: Settings, threads: int) -> int | None:  # noqa: ARG002 - for those that count
        """How many operations a run does, each of the same work; ``None`` where its time is set and not its work.

        Only what does the same work each time can be recorded and compared miss by miss.
        """
        return None

    def parse(self, settings: Settings, done: Sequence[Done]) -> tuple[tuple[str, float], ...]:
        """The value of each metric, by name: a pure function of what the steps printed.

        Raises ``BenchmarkFailed`` when a step did, ``BenchmarkNonsense`` when its output has no sound number.
        """


@runtime_checkable
class Search(Protocol):
    """One run of an optimizer; the same seed and the same answers lead to the same questions."""

    def ask(self, count: int) -> tuple[Ask, ...]:
        """At most ``count`` points to judge next; none while all that is asked for is unanswered, or at the end."""

    def tell(self, answer: Told) -> None:
        """Hear the answer to an ask; answers come in any order, and a failure is one too."""


@runtime_checkable
class Optimizer(Protocol):
    """A way to search a space by asking for few points."""

    name: str

    def obstacle(self) -> str | None:
        """Why it cannot run here (a library that is missing); ``None`` if it can."""
        return None

    def search(self, space: Space, rungs: int, seed: int, trials: int, costly: int = 2) -> Search:
        """Begin a search on ``rungs`` fidelities, in which at most ``trials`` points reach the upper ``costly``."""


class Pool(Protocol):
    """Workers that take functions; each worker has a warm folder of its own.

    They take ``slots`` functions at a time, on one and the same machine ``neighbours`` of them.
    """

    slots: int
    neighbours: int

    def submit(self, function: Callable[[Path], T], needs: str) -> Future[T]:
        """Run ``function``, which can be pickled, with the worker's warm folder; ``needs`` is ``BUILD`` or ``BENCH``.

        A function whose worker is lost runs again on another one. Raised exceptions are the future's.
        """


@runtime_checkable
class Executor(Protocol):
    """Where functions run: in processes of this machine, or on many machines."""

    name: str

    def open(self, settings: Settings, folder: Path) -> AbstractContextManager[Pool]:
        """Workers with warm folders below ``folder``; what still runs at the end is cancelled and its children killed.

        Raises ``ExecutorFailed`` or ``ToolMissing``.
        """


def read_text(path: Path, name: str) -> str:
    """The text of the file at ``path``, called ``name`` in messages; raises ``ProfileError`` if it is no text."""
    return decode(read_bytes(path, name), name)


def read_bytes(path: Path, name: str) -> bytes:
    """What is in the file at ``path``; raises ``ProfileError`` if it has more than 256 MiB, and ``OSError``."""
    with path.open("rb") as file:
        # A read of so many bytes at once would take all their memory first; a pipe may have no end.
        size = os.fstat(file.fileno()).st_size
        blocks = iter(lambda: file.read(max(_BLOCK_BYTES, size + 1)), b"")
        data = b"".join(islice(blocks, MOST_BYTES // _BLOCK_BYTES + 1)) if size <= MOST_BYTES else None
    if data is None or len(data) > MOST_BYTES:
        raise ProfileError(too_large(name))
    return data


def too_large(name: str) -> str:
    """The sentence about a file of more than 256 MiB."""
    return f"{name} is larger than {MOST_BYTES >> 20} MiB, too large for a report; {ADVICE}"


def refuse_known(head: bytes, name: str) -> None:
    """Raise ``ProfileError`` where a file that begins so is known to be no profile, with what it is instead."""
    for magic, words in _MAGICS.items():
        if head.startswith(magic):
            raise ProfileError(f"{name} {words}")


def head_text(head: bytes) -> str:
    """The text of a part of a file, which may begin and end within a character; nothing where it is no text."""
    return "" if head.startswith(tuple(_MAGICS)) or _is_binary(head) else head.decode("utf-8", "replace")


def decode(data: bytes, name: str) -> str:
    """The text of ``data``, UTF-8; bytes that are not become replacement characters.

    Raises ``ProfileError`` for data that is no text, with what it is instead.
    """
    refuse_known(data, name)
    if _is_binary(data):
        raise ProfileError(f"{name} is binary data, not text; {ADVICE}")
    return data.decode("utf-8", "replace")


def _is_binary(data: bytes) -> bool:
    return data.count(b"\0") * 100 > len(data)


def printable(text: str) -> str:
    """``text`` with a replacement character for each that does more than to be shown."""
    return text if text.isascii() and text.isprintable() else _UNPRINTABLE.sub("\ufffd", text)


def printable_profile(profile: T) -> T:
    """A profile (or any part of one) with every string printable; parts that need no change stay the same objects."""
    changes = {text: shown for text in set(_texts_in([profile])) if (shown := printable(text)) != text}
    return cast(T, _changed(profile, changes)) if changes else profile


def _texts_in(values: Iterable[Any]) -> Iterator[str]:
    """Every string in the values; of many records column by column, each distinct string of a column once."""
    every = list(values)
    kinds = set(map(type, every))
    for kind in kinds:
        some: list[Any] = every if len(kinds) == 1 else [value for value in every if type(value) is kind]
        if kind is str:
            yield from set(some)
        elif kind is tuple:
            yield from _texts_in(chain.from_iterable(some))
        for name, is_text in _telling(kind):
            column = map(attrgetter(name), some)
            yield from _texts_in(set(column) if is_text else filter(None, column))


def _changed(value: object, changes: Mapping[str, str]) -> object:
    if type(value) is str:
        return changes.get(value, value)
    if isinstance(value, tuple):
        parts = tuple(_changed(one, changes) for one in value)
        return value if all(map(operator.is_, parts, value)) else parts
    kind: type = type(value)
    held = {name: getattr(value, name) for name, _ in _telling(kind)}
    changed = {name: new for name, old in held.items() if (new := _changed(old, changes)) is not old}
    return replace(value, **changed) if changed else value  # type: ignore[type-var]


@cache
def _telling(kind: type) -> tuple[tuple[str, bool], ...]:
    """The fields of a dataclass that may hold strings, and whether each is one itself; none of any other type."""
    if not is_dataclass(kind):
        return ()
    declared = ((one.name, set(str(one.type).split(" | "))) for one in fields(kind))
    return tuple((name, types <= _TEXTS) for name, types in declared if not types <= _NUMBERS)
