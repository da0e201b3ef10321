# SPDX-License-Identifier: GPL-2.0-or-later
"""What is wrong with intents themselves: names that a build does not have, and wants that contradict each other.

An intent may hold in some configurations only; ``configuration_of`` reads that of a build out of a kernel's image
(CONFIG_IKCONFIG; kernel/configs.c), ``read_symbols`` out of a ``.config``.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, count, product
from pathlib import Path

from linesmith.analyzer.base.errors import IntentError
from linesmith.analyzer.base.text import did_you_mean
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.leaves import nameable, named
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Intent,
    Layout,
    MemberGroup,
    Severity,
    Suppression,
    TypeIntent,
    Violation,
)
from linesmith.analyzer.slab.caches import kernel_image

# The rules by which these violations go.
STALE = "intent-stale"
CONTRADICTION = "intent-contradiction"
_MOST_OFFERED = 3
# To look for near names in all names of a kernel takes time.
_MOST_OFFERS = 16
_SET = re.compile(r"^(CONFIG_\w+)=(?!n$)", re.MULTILINE | re.ASCII)
_BEGIN = b"IKCFG_ST"
_GZIP = b"\x1f\x8b\x08"
# The largest configurations have some hundred kilobytes.
_MOST_BYTES = 1 << 24


def unknown_types(intents: Iterable[TypeIntent], layouts: Layouts) -> Iterator[Violation]:
    """Each type that the build does not have."""
    offers = count()
    for one in intents:
        if not layouts.variants(one.record):
            near = offer(one.record, layouts.names()) if next(offers) < _MOST_OFFERS else ""
            yield problem(one, STALE, Severity.WARNING, f"no such type in the debug information{near}")


def unknown_members(intent: TypeIntent, layouts: Layouts) -> Iterator[Violation]:
    """Each member that no record of the type's name has; nothing where there is no such record."""
    records = layouts.variants(intent.record)
    for path in members_of(intent) if records else ():
        if not any(named(record, layouts, path) for record in records):
            names = [each.path for record in records for each in nameable(record, layouts)]
            message = f"does not exist{offer(path, names)}"
            yield problem(intent, STALE, Severity.WARNING, message, path, records[0].title)


def members_of(intent: TypeIntent) -> tuple[str, ...]:
    """Every member that an intent names, once."""
    lists = [intent.hot, intent.read_mostly, intent.write_hot]
    lists += [group.members for group in intent.groups]
    lists += [names for one in intent.isolations for names in (one.members, one.apart_from)]
    return tuple(dict.fromkeys(name for names in lists for name in names))


def contradictions(intent: Intent) -> Iterator[Violation]:
    """What no layout can fulfil at once."""
    for one in intent.types:
        both = (name for name in one.read_mostly if name in one.write_hot)
        classes = (f"{name} cannot be read-mostly and write-hot" for name in both)
        for said in (*classes, *_groups(one), *_isolations(one)):
            yield problem(one, CONTRADICTION, Severity.ERROR, said)
    first: dict[tuple[str, frozenset[str]], TypeIntent] = {}
    for one in intent.types:
        known = first.setdefault((one.record, frozenset(one.configuration)), one)
        if known is not one:
            message = f"another entry for the same configuration is in {known.place}; merge them"
            yield problem(one, CONTRADICTION, Severity.ERROR, message)


def impossible(intents: Iterable[TypeIntent], layouts: Layouts) -> Iterator[Violation]:
    """Each group whose members have more bytes than it may have or its lines hold."""
    for one in intents:
        for record in layouts.variants(one.record)[:1]:
            for said in (said for group in one.groups for said in _too_large(group, record, layouts)):
                yield problem(one, CONTRADICTION, Severity.ERROR, said)


def problem(
    intent: TypeIntent | Suppression, rule: str, severity: Severity, message: str, member: str = "", title: str = ""
) -> Violation:
    """A violation at the entry's place; what it is about is its message, as far as that has no offer of names."""
    file, _, line = intent.place.rpartition(":")
    subject = message.partition(";")[0]
    return Violation(rule, severity, title or intent.record, message, member, subject, file=file, line=int(line or 1))


def offer(name: str, names: Iterable[str]) -> str:
    """A question behind a sentence: the names that are near, if any are."""
    near = did_you_mean(name, names, _MOST_OFFERED)
    return f"; {near}" if near else ""


def _groups(intent: TypeIntent) -> Iterator[str]:
    for first, second in combinations(intent.groups, 2):
        mine, theirs = set(first.members), set(second.members)
        both = sorted(mine & theirs)
        if both and not (mine <= theirs or theirs <= mine):
            yield (
                f"{both[0]} cannot be in both groups {first.name} and {second.name}, because neither contains the other"
            )
    for group in intent.groups:
        read = [name for name in group.members if name in intent.read_mostly]
        written = [name for name in group.members if name in intent.write_hot]
        if group.lines == 1 and read and written:
            yield f"{read[0]} is read-mostly and {written[0]} write-hot, but group {group.name} has both on one line"


def _isolations(intent: TypeIntent) -> Iterator[str]:
    for one, group in product(intent.isolations, intent.groups):
        # The most bytes on which the group has its members, in some phase at least.
        limits = [limit for limit in ((group.lines or 0) * CACHE_LINE_BYTES, group.bytes or 0) if limit]
        if one.phases or not limits or min(limits) > one.bytes:
            continue
        others = [other for other in group.members if other not in one.members]
        met = [other for other in others if not one.apart_from or other in one.apart_from]
        for name in set(one.members) & set(group.members) if met else ():
            yield f"{name} cannot be isolated from {met[0]} and on one line with it in group {group.name}"


def _too_large(group: MemberGroup, record: Layout, layouts: Layouts) -> Iterator[str]:
    found = (named(record, layouts, path) for path in group.members)
    size = len({byte for one in found if one for byte in range(one.offset, min(one.end, record.size))})
    if group.bytes and size > group.bytes:
        yield f"the members of group {group.name} have {size} bytes, {group.bytes} are intended"
    if group.lines and size > group.lines * CACHE_LINE_BYTES:
        lines = "1 line holds" if group.lines == 1 else f"{group.lines} lines hold"
        yield f"the members of group {group.name} have {size} bytes, {lines} {group.lines * CACHE_LINE_BYTES}"


def applies(configuration: frozenset[str] | None) -> Callable[[TypeIntent], bool]:
    """Whether an intent holds where these symbols are set.

    Where the configuration is not known (``None``), only an intent that holds in all of them does; ``undecided`` tells
    the others.
    """

    def holds(condition: str) -> bool:
        if configuration is None:
            return False
        return (condition.removeprefix("!") in configuration) != condition.startswith("!")

    return lambda intent: all(map(holds, intent.configuration))


def undecided(intent: Intent, configuration: frozenset[str] | None) -> tuple[str, ...]:
    """A sentence on each type whose intents were left out because the configuration is not known."""
    if configuration is not None:
        return ()
    found = []
    for one in (one for one in intent.types if one.configuration):
        symbols = ((it.removeprefix("!"), "not set" if it.startswith("!") else "set") for it in one.configuration)
        conditions = (f"{symbol} is {state}" for symbol, state in symbols)
        found.append(
            f"{one.place}: the entry of {one.record} for {' and '.join(conditions)} was not checked, because the"
            " configuration of the build is not known; give --kconfig"
        )
    return tuple(found)


def read_symbols(kconfig: Path) -> frozenset[str]:
    """The symbols that a file sets; raises ``IntentError`` where it is no ``.config``, which names them all."""
    text = kconfig.read_text("utf-8", "replace")
    if text.strip() and "CONFIG_" not in text:
        raise IntentError(f"{kconfig} is not a .config: it names no CONFIG_ symbol; give the .config of the build")
    return symbols_in(text)


def symbols_in(text: str) -> frozenset[str]:
    """The symbols that a ``.config`` sets to anything but ``n``."""
    return frozenset(_SET.findall(text))


def configuration_of(elf: Path) -> frozenset[str] | None:
    """The symbols that the kernel in ``elf`` was built with; ``None`` where it does not say. Raises ``ElfError``."""
    with kernel_image(elf) as image:
        begin = image.find(_BEGIN + _GZIP)
        packed = image[begin + len(_BEGIN) : begin + len(_BEGIN) + _MOST_BYTES] if begin >= 0 else b""
    try:
        text = zlib.decompressobj(wbits=31).decompress(packed, _MOST_BYTES)
    except zlib.error:
        return None
    return symbols_in(text.decode("utf-8", "replace")) if text else None
