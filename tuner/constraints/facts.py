# SPDX-License-Identifier: GPL-2.0-or-later
"""What a person knows of the source, read from TOML and checked.

Each record has its tables, ``[[address_space]]``, each with one fact: ``offset``, ``range``, ``positional``,
``first``, ``last``, ``wall``, ``together``, ``apart``, ``randomized`` or ``size``, a ``reason`` and a ``place``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from linesmith.analyzer.base.errors import ConstraintsError
from linesmith.analyzer.base.text import did_you_mean
from linesmith.analyzer.base.toml import TomlError, read_toml
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.placement import visible_places
from linesmith.analyzer.model import FactKind, SourceFact, SourceFacts

_MOST_BYTES = 1 << 20
_SIZES = {"now": FactKind.SIZE, "page": FactKind.PAGE, "slab": FactKind.SLAB}
_FEWEST = {
    FactKind.OFFSET: 1,
    FactKind.RANGE: 2,
    FactKind.POSITIONAL: 1,
    FactKind.FIRST: 1,
    FactKind.LAST: 1,
    FactKind.WALL: 1,
    FactKind.TOGETHER: 2,
    FactKind.APART: 2,
    FactKind.RANDOMIZED: 0,
}
_REASONS = {
    FactKind.OFFSET: "its offset is relied upon",
    FactKind.RANGE: "the code treats them as one range",
    FactKind.POSITIONAL: "an initialiser gives it by position",
    FactKind.FIRST: "code takes its address for that of the record",
    FactKind.LAST: "objects may be longer than the record is declared",
    FactKind.WALL: "the code splits the record where it begins",
    FactKind.TOGETHER: "they stand together in the source",
    FactKind.APART: "they must be on different lines",
    FactKind.RANDOMIZED: "the compiler may shuffle its members",
    FactKind.SIZE: "it must not become larger",
    FactKind.PAGE: "it must fit into a page",
    FactKind.SLAB: "its slabs must hold as many objects as now",
}
_NOT_THERE = "which the ELF file does not have"
_ELSEWHERE = "leave it out, or name the build that has it with --configuration"
_KINDS = (*(kind.value for kind in _FEWEST), "size")
_Names = list[str] | str
_Bytes = Annotated[int, msgspec.Meta(ge=1)]
_Line = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x1f\x7f]*$")]
# A table of the file, with one fact.
_FactTable = msgspec.defstruct(
    "FactTable",
    [
        *((kind.value, _Names | None, None) for kind in _FEWEST if kind is not FactKind.RANDOMIZED),
        (FactKind.RANDOMIZED.value, bool, False),
        ("size", _Bytes | Literal["now", "page", "slab"] | None, None),
        ("bytes", _Bytes | None, None),
        ("reason", _Line, ""),
        ("place", _Line, ""),
    ],
    forbid_unknown_fields=True,
)


def read_facts(path: Path) -> SourceFacts:
    """The facts in the file at ``path``; raises ``ConstraintsError``, which names the file and the place in it."""
    try:
        text = read_toml(path, _MOST_BYTES, "facts")
        return SourceFacts(tuple(_of_record(name, tables, path.name) for name, tables in text.values.items()))
    except OSError as error:
        raise ConstraintsError(f"cannot read {path}: {error.strerror or error}; name a TOML file") from error
    except TomlError as error:
        raise ConstraintsError(str(error)) from error
    except ConstraintsError as error:
        raise ConstraintsError(f"{path}: {error}; docs/constraints.md lists the facts") from error


def _of_record(name: str, tables: object, origin: str) -> tuple[str, tuple[SourceFact, ...]]:
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ConstraintsError(f"write facts of a record in tables with its name, `[[{name}]]`")
    facts = tuple(_fact(f"[[{name}]] number {at}", table, origin) for at, table in enumerate(tables, 1))
    return name.removeprefix("struct ").strip(), facts


def _fact(place: str, table: Mapping[str, object], origin: str) -> SourceFact:
    """The one fact that a table tells."""
    try:
        row = msgspec.structs.asdict(msgspec.convert(table, _FactTable))
    except msgspec.ValidationError as error:
        raise ConstraintsError(f"{place}: {error}") from None
    words = [key for key in _KINDS if row[key]]
    if len(words) != 1:
        said = " and ".join(f"`{word}`" for word in words) or "nothing"
        raise ConstraintsError(f"{place} has {said}; a table holds one fact, one of {', '.join(_KINDS)}")
    (word,) = words
    kind = _SIZES.get(row["size"], FactKind.SIZE) if word == "size" else FactKind(word)
    if row["bytes"] is not None and kind is not FactKind.APART:
        raise ConstraintsError(f"{place}: `bytes` is the line that members are `apart` on; `{word}` has none")
    size = row["size"] if isinstance(row["size"], int) else row["bytes"]
    named = () if word in ("size", "randomized") else [row[word]] if isinstance(row[word], str) else row[word]
    members = tuple(dict.fromkeys(name.partition(".")[0] for name in named))
    least = _FEWEST.get(kind, 0)
    if len(members) < least:
        raise ConstraintsError(f"{place}: `{word}` names {len(members)} members, at least {least} are needed")
    return SourceFact(kind, members, row["reason"] or _REASONS[kind], row["place"] or origin, size)


def check_facts(facts: SourceFacts, *builds: Layouts) -> None:
    """Raise ``ConstraintsError`` for a record or member that none of the builds has, in no variant of the record."""
    for record, known in facts.records:
        variants = [(variant, layouts) for layouts in builds for variant in layouts.variants(record)]
        if not variants:
            step = did_you_mean(record, (name for layouts in builds for name in layouts.names()), 3) or _ELSEWHERE
            raise ConstraintsError(f"there are facts for struct {record}, {_NOT_THERE}; {step}")
        names = dict.fromkeys(name for variant, layouts in variants for name in visible_places(variant, layouts))
        for member in (member for fact in known for member in fact.members):
            if member not in names:
                step = did_you_mean(member, names, 3) or _ELSEWHERE
                raise ConstraintsError(f"there are facts for {record}.{member}, {_NOT_THERE}; {step}")
