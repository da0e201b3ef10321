# SPDX-License-Identifier: GPL-2.0-or-later
"""How far the access map of a file agrees with its sources, line by line.

    PYTHONPATH=tests python -m access.agreement ELF EXPRESSIONS... --roots DIRECTORY... [--sample 200 --seed 1]

EXPRESSIONS are what tests/access/member_expressions.py wrote. Every resolved access whose source line has member
expressions must name one of them: the innermost member of an expression must be among the members that the bytes of
the access touch, on any level of nesting and in any alternative of a union; an expression that takes a whole record
allows every member of it. ``--sample`` prints that many disagreements at random, with source and instruction.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
from access.expressions import Expression, Expressions, Member, read_expressions, relative
from access.levels import members_touched
from access.samples import Scene, described

from linesmith.analyzer.access import AccessMap, read_accesses
from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import AccessOutcome


class Ruling(StrEnum):
    """What the sources say of one resolved access."""

    OUTERMOST = "agrees, with the outermost record"
    INNER = "agrees, with a record inside the outermost one"
    POINTEE = "agrees with a plain dereference of its width"
    STATEMENT = "agrees with another line of the statement"
    DISAGREES = "disagrees"
    NO_MEMBERS = "line without member expressions"
    UNREAD = "line not known, or of a file not parsed"


COMPARED = (Ruling.OUTERMOST, Ruling.INNER, Ruling.POINTEE, Ruling.STATEMENT, Ruling.DISAGREES)
# Names of base types in DWARF and in C sources differ in the order of their words and in "int".
IGNORED_WORDS = frozenset(("int", "const", "volatile", "struct", "union", "class"))


@dataclass(frozen=True, slots=True)
class Named:
    """What the map says an access touches; a type without members is a scalar."""

    type: str
    members: frozenset[Member]
    width: int
    variable: str


def words(type_name: str) -> tuple[str, ...]:
    """A type's name for comparison: without what different producers spell differently."""
    parts = type_name.replace("*", " * ").split()
    return tuple(sorted(part for part in parts if part not in IGNORED_WORDS)) or ("int",)


def agrees(named: Named, expression: Expression) -> bool:
    """Whether the access may be what the expression does."""
    if expression.members and expression.members[-1] in named.members:
        return True
    if expression.variable and not expression.members:
        return named.variable == expression.variable
    if expression.whole and named.members:
        return words(expression.type) in {words(record) for record, _ in named.members}
    return not named.members and words(named.type) == words(expression.type)


def names_outermost(named: Named, expression: Expression) -> bool:
    """Whether the expression, which agrees, reaches its place from the type that the map says is outermost."""
    records = {record for record, _ in expression.members} | {expression.type}
    return not named.members or words(named.type) in {words(record) for record in records}


def is_pointee(named: Named, expression: Expression) -> bool:
    """Whether the expression is ``*p`` of the access's width: where ``p`` leads the line does not tell."""
    plain = not expression.members and not expression.variable and not expression.whole
    return plain and expression.bytes == named.width


def rule(named: Named, on_line: Sequence[Expression], around: Sequence[Expression]) -> Ruling:
    """The ruling by the expressions on the line and in the statements around it."""
    if not any(expression.members or expression.whole for expression in on_line):
        return Ruling.NO_MEMBERS
    agreeing = [expression for expression in on_line if agrees(named, expression)]
    if agreeing:
        return Ruling.OUTERMOST if any(names_outermost(named, one) for one in agreeing) else Ruling.INNER
    if any(is_pointee(named, one) for one in on_line):
        return Ruling.POINTEE
    return Ruling.STATEMENT if any(agrees(named, one) for one in around) else Ruling.DISAGREES


class Comparison:
    """An access map beside the expressions of its sources."""

    def __init__(self, accesses: AccessMap, layouts: Layouts, expressions: Expressions, roots: Sequence[str]) -> None:
        self._accesses, self._layouts, self._expressions = accesses, layouts, expressions
        self._layout_of_place = layouts_of_places(accesses)
        self._files = [relative(name, roots) for name in accesses.files]
        self._named: dict[tuple[int, int], Named] = {}

    def line_of(self, row: int) -> tuple[str, int]:
        """The source line of a row, in the names of the expressions."""
        return self._files[int(self._accesses.file[row])], int(self._accesses.line[row])

    def named(self, row: int) -> Named:
        """What the map says the row touches."""
        key = int(self._accesses.place[row]), int(self._accesses.variable[row])
        if key not in self._named:
            self._named[key] = self._read(*key)
        return self._named[key]

    def expressions_at(self, row: int) -> Sequence[Expression]:
        """What the sources reach on the row's line."""
        return self._expressions.on_line.get(self.line_of(row), ())

    def ruling(self, row: int) -> Ruling:
        """What the sources say of a resolved row."""
        file, line = self.line_of(row)
        if not line or file not in self._expressions.files:
            return Ruling.UNREAD
        around = self._expressions.in_statement.get((file, line), ())
        return rule(self.named(row), self.expressions_at(row), around)

    def _read(self, place: int, variable: int) -> Named:
        accesses = self._accesses
        layout = self._layout_of_place.get(place)
        offset, width = int(accesses.place_offset[place]), int(accesses.place_width[place])
        touched: frozenset[Member] = frozenset()
        if layout is not None:
            touched = members_touched(self._layouts.by_id(layout), self._layouts, offset, width)
        name = accesses.variables[variable] if variable else ""
        return Named(accesses.types[int(accesses.place_type[place])], touched, width, name)


def layouts_of_places(accesses: AccessMap) -> Mapping[int, int]:
    """The layout of each place's outermost type: the entry that the place itself, under no path, falls into."""
    offsets = accesses.place_offset[accesses.entry_place]
    numbers = np.flatnonzero(accesses.entry_offset == offsets)
    found: dict[int, int] = {}
    for number in numbers:
        if not accesses.paths[int(accesses.entry_path[number])]:
            found[int(accesses.entry_place[number])] = int(accesses.entry_layout[number])
    return found


def resolved_rows(accesses: AccessMap) -> Sequence[int]:
    """The rows with a resolved outcome."""
    resolved = [number for number, outcome in enumerate(AccessOutcome) if outcome.resolved]
    return [int(row) for row in np.flatnonzero(np.isin(accesses.outcome, resolved))]


def table(counts: Counter[tuple[AccessOutcome, Ruling]]) -> Iterator[str]:
    """Rows of rulings, columns of outcomes; shares are of what was compared."""
    outcomes = [outcome for outcome in AccessOutcome if outcome.resolved]
    yield " | ".join(("ruling", "all", "share", *outcomes))
    compared = sum(count for (_, ruling), count in counts.items() if ruling in COMPARED)
    for ruling in Ruling:
        by_outcome = [counts[outcome, ruling] for outcome in outcomes]
        share = f"{sum(by_outcome) / compared:.2%}" if compared and ruling in COMPARED else "-"
        yield " | ".join((ruling, f"{sum(by_outcome):,}", share, *(f"{count:,}" for count in by_outcome)))


def sampled(rows: Sequence[int], size: int, seed: int) -> list[int]:
    """``size`` of the rows at random, by address."""
    return sorted(random.Random(seed).sample(rows, min(size, len(rows))))  # noqa: S311


def options() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("elf", type=Path)
    parser.add_argument("expressions", type=Path, nargs="+")
    parser.add_argument("--roots", nargs="*", default=[], help="directories that paths are relative to")
    parser.add_argument("--sample", type=int, default=0, help="how many accesses to print")
    parser.add_argument("--of", default="DISAGREES", choices=list(Ruling.__members__), help="of which ruling")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main() -> None:
    """Print the agreement, and a sample of what was asked for."""
    chosen = options()
    accesses = read_accesses(chosen.elf).accesses
    expressions = read_expressions(chosen.expressions, chosen.roots)
    comparison = Comparison(accesses, read_layouts(chosen.elf).layouts, expressions, chosen.roots)
    rulings = {row: comparison.ruling(row) for row in resolved_rows(accesses)}
    outcomes = list(AccessOutcome)
    print("\n".join(table(Counter((outcomes[accesses.outcome[row]], ruling) for row, ruling in rulings.items()))))
    of = Ruling[chosen.of]
    scene = Scene(chosen.elf, chosen.roots)
    for number, row in enumerate(
        sampled([row for row in rulings if rulings[row] is of], chosen.sample, chosen.seed), 1
    ):
        print(f"\n#{number}", described(accesses.access(row), comparison.expressions_at(row), scene), sep="\n")


if __name__ == "__main__":
    main()
