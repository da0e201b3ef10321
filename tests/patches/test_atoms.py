# SPDX-License-Identifier: GPL-2.0-or-later
"""How the text of a record is read: where it is declared, how its lines are cut into atoms, what macros stand for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patch_cases import atoms_of
from text_cases import TextCase, declared, text_cases, text_rows

from linesmith.patches.source.atoms import Atom, AtomKind
from linesmith.patches.source.macros import closing, plain, without_comments, without_directives
from linesmith.patches.source.records import RecordSpan, body, is_packed, records_named

CASES = Path(__file__).with_name("cases")
# Of the records below include/ of Debian's 6.1, this share at most may hold text the grammar does not know.
MOST_UNREADABLE = 0.0025
_RECORD = re.compile(rb"\b(struct|union)\b[\w\s]*\{")


def label(atom: Atom, regions: list[int]) -> str:
    """The names that an atom declares, those inside of it, what it is, and which region it is in."""
    words = [*atom.names, f"[{' '.join(atom.inner)}]" if atom.inner else ""]
    words.append("" if atom.kind is AtomKind.DECLARATION else f"({atom.kind.name.lower().replace('_', '-')})")
    if atom.names and regions.index(atom.region):
        words.append(f"region {regions.index(atom.region)}")
    return " ".join(filter(None, words)) or "-"


@text_cases(CASES / "atoms.txt")
def test_lines_are_cut_into_atoms(case: TextCase) -> None:
    lines = [line.partition("|")[2] for line in case.lines]
    ending = b"\r\n" if case.words("lines") else b"\n"
    source = declared(lines).encode().replace(b"\n", ending)
    atoms = atoms_of(source)
    regions = list(dict.fromkeys(atom.region for atom in atoms if atom.names))
    found, at = [], 0
    for line in source.split(ending)[:-1]:
        atom = next((one for one in atoms if one.start <= at < one.end), None)
        found.append((label(atom, regions) if atom and atom.start == at else ":" if atom else "", line.decode()))
        at += len(line + ending)
    shown = found if lines[0] in found[0] else found[1:-1]
    assert shown == [(line.partition("|")[0].rstrip(), line.partition("|")[2]) for line in case.lines]


@text_rows(CASES / "declarations.txt")
def test_records_are_found_by_their_name(source: str, expected: list[str]) -> None:
    text = f"{source}\n".encode()
    found = records_named(text, "s")
    said = [f"{one.title} in line {one.line}{', packed' if is_packed(text, one) else ''}" for one in found]
    assert (said or ["none"]) == expected
    assert {(chr(text[one.opening]), chr(text[one.closing])) for one in found} <= {("{", "}")}


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"struct s {" * 50_000, id="nested"),
        pytest.param(b"struct " + b"_" * 50_000 + b" s", id="underscores"),
        pytest.param(b"struct s " + b"__a" * 20_000, id="attributes"),
        pytest.param(b"typedef struct {" * 2_000 + b"} t;" * 2_000, id="typedefs"),
        pytest.param(b"struct s { int " + b"(" * 5_000 + b"x" + b")" * 5_000 + b"; };", id="parentheses"),
        pytest.param(b"/*" * 50_000 + b" struct s { int a; };", id="comments"),
    ],
)
def test_text_made_to_exhaust_a_parser_declares_nothing(source: bytes) -> None:
    assert records_named(source, "s") == ()


@text_rows(CASES / "macros.txt")
def test_a_macro_becomes_plain_c(source: str, expected: list[str]) -> None:
    text = plain(f"struct s {{\n{source}\n}}".encode()).decode()
    assert [" ".join(text.removeprefix("struct s {").removesuffix("}").split())] == expected


# fmt: off
PARTS = st.sampled_from([
    b"int a;", b"F(", b")", b"{", b"}", b"/*", b"*/", b'"', b"'", b"\n", b"#if X\n", b";", b"struct_group(", b",",
    b"_Atomic(", b"DECLARE_BITMAP(", b":3", b"\\\n", b"//", b"\xff", b"__attribute__((", b"PAD\n", b" : 4;", b"__rcu ",
])
# fmt: on


@settings(max_examples=50)
@given(st.lists(PARTS, max_size=30))
def test_no_text_changes_its_length_or_its_lines(parts: list[bytes]) -> None:
    source = b"struct s {" + b"".join(parts) + b"}"
    text = plain(source)
    assert len(text) == len(source)
    assert [at for at, byte in enumerate(text) if byte == 10] == [at for at, byte in enumerate(source) if byte == 10]


@pytest.mark.real
@pytest.mark.study
def test_the_records_of_a_kernel_are_readable(kernel_tree: Path) -> None:
    sound = [readable for path in sorted((kernel_tree / "include").rglob("*.h")) for readable in judged(path)]
    assert len(sound) > 15_000
    assert sound.count(False) / len(sound) <= MOST_UNREADABLE


def judged(path: Path) -> list[bool]:
    """For each outermost record of the file, whether the grammar takes its body whole."""
    source = path.read_bytes()
    code = without_directives(without_comments(source))
    found: list[bool] = []
    end = 0
    for match in _RECORD.finditer(code):
        last = closing(code, match.end() - 1) if match.start() >= end else None
        if last is not None:
            end = last
            found.append(body(source, RecordSpan("", match[1].decode(), match.start(), match.end() - 1, last, 1))[1])
    return found
