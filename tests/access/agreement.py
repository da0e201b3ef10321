# SPDX-License-Identifier: GPL-2.0-or-later
"""How far the access map of a file agrees with its sources, line by line.

    PYTHONPATH=tests python -m access.agreement ELF EXPRESSIONS... --roots DIRECTORY... [--sample 200 --seed 1]

EXPRESSIONS are what tests/access/member_expressions.py wrote. Every resolved access whose source line has member
expressions must name one of them: the innermost member of an expression must be among the members that the bytes of
the access touch, on any level of nesting and in any alternative of a union; an expression that takes a whole record
allows every member of it. ``--sample`` prints that many disagreements at random.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
from access.expressions import Expression, Expressions, Member, read_expressions, relative
from numpy.typing import NDArray

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import AccessOutcome, CodeAccess, Layout
from linesmith.analyzer.model import Member as LaidOutMember


class Ruling(StrEnum):
    """What the sources say of one resolved access."""

    OUTERMOST = "agrees, with the outermost record"
    INNER = "agrees, with a record inside the outermost one"
    POINTEE = "agrees with a plain dereference of its width"
    STATEMENT = "agrees with another line of the statement"
    FUNCTION = "agrees with another line of the function or of what it inlines"
    NOWHERE = "agrees with no line of the function"
    COMPILER_MADE = "the compiler's own, no source has it"
    NO_MEMBERS = "line without member expressions"
    UNREAD = "line not known, or of a file not parsed"


AGREEING = (Ruling.OUTERMOST, Ruling.INNER, Ruling.POINTEE)
DISAGREEING = (Ruling.STATEMENT, Ruling.FUNCTION, Ruling.NOWHERE)
# Names of base types in DWARF and in C sources differ in the order of their words and in "int".
IGNORED_WORDS = frozenset(("int", "const", "volatile", "struct", "union", "class"))
# A function that copies memory may be given a pointer to a scalar for any bytes.
LARGEST_SCALAR = 8
# The canary that the stack protector reads at entry and exit.
COMPILER_MADE = frozenset((("fixed_percpu_data", "stack_canary"),))


MOST_LEVELS = 32


@dataclass(frozen=True, slots=True)
class Touched:
    """The members that an access falls into, on every level; ``innermost`` are those that are no records."""

    members: frozenset[Member] = frozenset()
    innermost: frozenset[Member] = frozenset()


def touched(layout: Layout, layouts: Layouts, offset: int, width: int) -> Touched:
    """The members of ``layout`` and of the records in it that ``width`` bytes at ``offset`` touch.

    Unions give all their alternatives; any element of an array stands for all.
    """
    found = list(_touched(layout, layouts, (offset, offset + max(width, 1)), (layout.name, ""), MOST_LEVELS))
    return Touched(frozenset(member for member, _ in found), frozenset(member for member, last in found if last))


def _touched(
    layout: Layout, layouts: Layouts, span: tuple[int, int], holder: Member, levels: int
) -> Iterator[tuple[Member, bool]]:
    for member in layout.members:
        inner = layouts.by_id(member.record) if member.record is not None else None
        if not _meets(member, inner, span):
            continue
        record, path = holder
        here = (record, f"{path}.{member.name}".strip(".")) if member.name else holder
        if member.name:
            yield here, inner is None
        if inner is not None and levels:
            # A record with a name of its own starts afresh; a nameless one lengthens the path.
            start = (inner.name, "") if inner.name else here
            yield from _touched(inner, layouts, _inside(member, inner, span), start, levels - 1)


def _meets(member: LaidOutMember, inner: Layout | None, span: tuple[int, int]) -> bool:
    if member.bit_offset is not None and member.bit_size is not None:
        first, last = member.bit_offset // 8, (member.bit_offset + member.bit_size - 1) // 8 + 1
        return span[0] < last and first < span[1]
    # A record of no size around a flexible array runs on like the array itself.
    if member.flexible or member.size == 0 or (inner is not None and inner.size == 0):
        return span[1] > member.offset
    return span[0] < member.end and member.offset < span[1]


def _inside(member: LaidOutMember, inner: Layout, span: tuple[int, int]) -> tuple[int, int]:
    """The span in terms of the record held; of an array, of the element that it begins in."""
    begin, end = span[0] - member.offset, span[1] - member.offset
    if (member.dimensions or member.flexible) and inner.size > 0 and begin >= 0:
        skipped = begin // inner.size * inner.size
        return begin - skipped, end - skipped
    return begin, end


@dataclass(frozen=True, slots=True)
class Named:
    """What the map says an access touches; a type without members is a scalar."""

    type: str
    touched: Touched
    width: int
    variables: frozenset[str]


def words(type_name: str) -> tuple[str, ...]:
    """A type's name for comparison: without what different producers spell differently."""
    parts = type_name.replace("*", " * ").split()
    return tuple(sorted(part for part in parts if part not in IGNORED_WORDS)) or ("int",)


def agrees(named: Named, expression: Expression) -> bool:
    """Whether the access may be what the expression does."""
    if expression.members and expression.members[-1] in named.touched.members:
        return True
    # Behind a cast of an address the source goes on in another type: `((struct x *)s->bytes)->y` is in `bytes`.
    if named.touched.innermost.intersection(expression.members):
        return True
    if expression.variable and not expression.members:
        return expression.variable in named.variables
    if expression.whole and named.touched.members:
        return words(expression.type) in {words(record) for record, _ in named.touched.members}
    return not named.touched.members and words(named.type) == words(expression.type)


def names_outermost(named: Named, expression: Expression) -> bool:
    """Whether the expression, which agrees, reaches its place from the type that the map says is outermost."""
    records = {record for record, _ in expression.members} | {expression.type}
    return not named.touched.members or words(named.type) in {words(record) for record in records}


def is_pointee(named: Named, expression: Expression) -> bool:
    """Whether the expression is ``*p`` of the access's width, or bytes copied: the line leaves open of what."""
    plain = not expression.members and not expression.variable
    copied = expression.whole and expression.bytes <= LARGEST_SCALAR
    return plain and (copied or (not expression.whole and expression.bytes == named.width))


def rule_on_line(named: Named, on_line: Sequence[Expression]) -> Ruling | None:
    """The ruling by the expressions on the line alone; ``None`` where they disagree."""
    if not any(expression.members or expression.whole for expression in on_line):
        return Ruling.NO_MEMBERS
    agreeing = [expression for expression in on_line if agrees(named, expression)]
    if agreeing:
        return Ruling.OUTERMOST if any(names_outermost(named, one) for one in agreeing) else Ruling.INNER
    return Ruling.POINTEE if any(is_pointee(named, one) for one in on_line) else None


class Comparison:
    """An access map beside the expressions of its sources."""

    def __init__(self, elf: Path, accesses: AccessMap, expressions: Expressions, roots: Sequence[str]) -> None:
        self._accesses, self._expressions = accesses, expressions
        self._layouts, self._aliases = read_layouts(elf).layouts, aliases(elf)
        self._layout_of_place = layouts_of_places(accesses, self._layouts)
        self._files = [relative(name, roots) for name in accesses.files]
        self._named: dict[tuple[int, int], Named] = {}
        self._of_function: dict[int, frozenset[Expression]] = {}

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
        named = self.named(row)
        if named.touched.innermost & COMPILER_MADE:
            return Ruling.COMPILER_MADE
        return rule_on_line(named, self.expressions_at(row)) or self._beyond_the_line(row, named)

    def _beyond_the_line(self, row: int, named: Named) -> Ruling:
        around = self._expressions.in_statement.get(self.line_of(row), ())
        if any(agrees(named, one) for one in around):
            return Ruling.STATEMENT
        reached = self._reached_in(int(self._accesses.function[row]))
        return Ruling.FUNCTION if any(agrees(named, one) for one in reached) else Ruling.NOWHERE

    def _reached_in(self, function: int) -> frozenset[Expression]:
        """What the sources reach anywhere in a function and in what is inlined there, as far as its lines tell."""
        if function not in self._of_function:
            lines = self._lines_of(function)
            self._of_function[function] = frozenset(
                one for line in lines for one in self._expressions.on_line.get(line, ())
            )
        return self._of_function[function]

    def _lines_of(self, function: int) -> Iterator[tuple[str, int]]:
        """From the first to the last line of each piece of source, code of one inlined function being a piece."""
        pieces: dict[tuple[str, str], list[int]] = defaultdict(list)
        for row in self._accesses.rows_of_function(function):
            file, line = self.line_of(int(row))
            inlined = self._accesses.chain_of(int(self._accesses.chain[row]))
            pieces[file, inlined[-1] if inlined else ""].append(line)
        for (file, _), lines in pieces.items():
            yield from ((file, line) for line in range(min(lines), max(lines) + 1))

    def _read(self, place: int, variable: int) -> Named:
        accesses = self._accesses
        layout = self._layout_of_place.get(place)
        offset, width = int(accesses.place_offset[place]), int(accesses.place_width[place])
        there = Touched()
        if layout is not None:
            there = touched(self._layouts.by_id(layout), self._layouts, offset, width)
        name = accesses.variables[variable] if variable else ""
        names = self._aliases.get(name, frozenset((name,))) if name else frozenset()
        return Named(accesses.types[int(accesses.place_type[place])], there, width, names)


def aliases(elf: Path) -> Mapping[str, frozenset[str]]:
    """For each symbol all names of its address, by ``nm``; names that several addresses bear are left out."""
    printed = subprocess.run(["nm", str(elf)], capture_output=True, text=True, check=False).stdout
    rows = [(parts[0], parts[2]) for parts in map(str.split, printed.splitlines()) if len(parts) == 3]
    bearers = Counter(name for _, name in rows)
    names: dict[str, set[str]] = defaultdict(set)
    for address, name in rows:
        if bearers[name] == 1:
            names[address].add(name)
    return {name: frozenset(names[address]) for address, name in rows if bearers[name] == 1}


def layouts_of_places(accesses: AccessMap, layouts: Layouts) -> Mapping[int, int]:
    """The layout of each place's outermost type: the entry under no path that bears the name of the type."""
    at_start = np.flatnonzero(accesses.entry_offset == accesses.place_offset[accesses.entry_place])
    found: dict[int, int] = {}
    for number in at_start:
        place, layout = int(accesses.entry_place[number]), int(accesses.entry_layout[number])
        if not accesses.paths[int(accesses.entry_path[number])] and _is_titled(
            layouts.by_id(layout), accesses.types[int(accesses.place_type[place])]
        ):
            found[place] = layout
    return found


def _is_titled(layout: Layout, title: str) -> bool:
    """Whether the layout is the type itself: anonymous records at the start of the type have no path either."""
    return title in (layout.title, f"{layout.kind.value} {{...}}")


def resolved_rows(accesses: AccessMap) -> Sequence[int]:
    resolved = [number for number, outcome in enumerate(AccessOutcome) if outcome.resolved]
    return [int(row) for row in np.flatnonzero(np.isin(accesses.outcome, resolved))]


def table(counts: Counter[tuple[AccessOutcome, Ruling]]) -> Iterator[str]:
    """Rows of rulings, columns of outcomes; shares are of what was compared."""
    outcomes = [outcome for outcome in AccessOutcome if outcome.resolved]
    compared = sum(count for (_, ruling), count in counts.items() if ruling in AGREEING + DISAGREEING)

    def row(title: str, rulings: Sequence[Ruling], *, share: bool) -> str:
        by_outcome = [sum(counts[outcome, ruling] for ruling in rulings) for outcome in outcomes]
        part = f"{sum(by_outcome) / compared:.2%}" if compared and share else "-"
        return " | ".join((title, f"{sum(by_outcome):,}", part, *(f"{count:,}" for count in by_outcome)))

    yield " | ".join(("ruling", "all", "share", *outcomes))
    for ruling in Ruling:
        yield row(ruling, (ruling,), share=ruling in AGREEING + DISAGREEING)
    yield row("agrees with its line", AGREEING, share=True)
    yield row("disagrees with its line", DISAGREEING, share=True)


def sampled(rows: Sequence[int], addresses: NDArray[np.uint64], size: int, seed: int) -> list[int]:
    """``size`` of the rows, drawn by a hash of their addresses: what is left of a sample stays in it when others go."""

    def lot(row: int) -> bytes:
        return hashlib.blake2b(f"{seed} {int(addresses[row]):x}".encode()).digest()

    return sorted(sorted(rows, key=lot)[:size])


def described(access: CodeAccess, expressions: Sequence[Expression]) -> str:
    """What the map and the sources say of one access."""
    chain = f" through {' > '.join(access.inlined)}" if access.inlined else ""
    reached = ", ".join(dict.fromkeys(expression.text for expression in expressions))
    return (
        f"{access.address:#x} {access.function}+{access.into or 0:#x}{chain}\n"
        f"map: {access.place} (+{access.offset}) {access.kind}, {access.width or 'unknown'} bytes, {access.outcome}"
        f" {access.variable or ''}\nsource: {access.file}:{access.line}\nline reaches: {reached}"
    )


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("elf", type=Path)
    parser.add_argument("expressions", type=Path, nargs="+")
    parser.add_argument("--roots", nargs="*", default=[], help="directories that paths are relative to")
    parser.add_argument("--sample", type=int, default=0, help="how many accesses to print")
    parser.add_argument("--of", nargs="+", default=[one.name for one in DISAGREEING], choices=list(Ruling.__members__))
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main() -> None:
    """Print the agreement, and a sample of what was asked for."""
    chosen = options()
    accesses = read_accesses(chosen.elf).accesses
    expressions = read_expressions(chosen.expressions, chosen.roots)
    comparison = Comparison(chosen.elf, accesses, expressions, chosen.roots)
    rulings = {row: comparison.ruling(row) for row in resolved_rows(accesses)}
    outcomes = list(AccessOutcome)
    print("\n".join(table(Counter((outcomes[accesses.outcome[row]], ruling) for row, ruling in rulings.items()))))
    wanted = [row for row, ruling in rulings.items() if ruling.name in chosen.of]
    for number, row in enumerate(sampled(wanted, accesses.address, chosen.sample, chosen.seed), 1):
        heading = f"\n#{number} {rulings[row]}"
        print(heading, described(accesses.access(row), comparison.expressions_at(row)), sep="\n")


if __name__ == "__main__":
    main()
