# SPDX-License-Identifier: GPL-2.0-or-later
"""The file in which a person tells what only the source shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from hand_made import held, scalar, struct, table, union

from linesmith.analyzer.errors import ConstraintsError
from linesmith.analyzer.model import FactKind, SourceFact
from linesmith.tuner.constraints.checked import check_facts
from linesmith.tuner.constraints.reading import facts_in, read_facts

FILE = """
[[mapping]]
offset = ["host", "ops"]
reason = "crash dumps are read with them"
place = "tools/dump.py:12"

[[mapping]]
apart = ["tree", "lock"]
bytes = 128

[[cache]]
size = 192
"""


def said(text: str) -> str:
    with pytest.raises(ConstraintsError) as caught:
        facts_in(text)
    return str(caught.value)


def test_a_table_tells_a_fact_of_the_record_it_is_named_after() -> None:
    found = facts_in(FILE, "facts.toml")
    assert found.of("mapping") == (
        SourceFact(FactKind.OFFSET, ("host", "ops"), "crash dumps are read with them", "tools/dump.py:12"),
        SourceFact(FactKind.APART, ("tree", "lock"), "they must be on different lines", "facts.toml", 128),
    )
    assert found.of("cache") == (SourceFact(FactKind.SIZE, (), "it must not become larger", "facts.toml", 192),)
    assert found.of("other") == ()


@pytest.mark.parametrize(
    ("line", "kind", "members"),
    [
        ('range = ["a", "b"]', FactKind.RANGE, ("a", "b")),
        ('together = ["a", "b"]', FactKind.TOGETHER, ("a", "b")),
        ('positional = "b"', FactKind.POSITIONAL, ("b",)),
        ('first = "a"', FactKind.FIRST, ("a",)),
        ('last = "b"', FactKind.LAST, ("b",)),
        ('wall = "b"', FactKind.WALL, ("b",)),
        ("randomized = true", FactKind.RANDOMIZED, ()),
        ('randomized = ["a"]', FactKind.RANDOMIZED, ("a",)),
        ('size = "now"', FactKind.SIZE, ()),
        ('size = "page"', FactKind.PAGE, ()),
        ('size = "slab"', FactKind.SLAB, ()),
        ('offset = "a.inner"', FactKind.OFFSET, ("a",)),
    ],
)
def test_each_kind_of_fact_has_its_word(line: str, kind: FactKind, members: tuple[str, ...]) -> None:
    (fact,) = facts_in(f"[[s]]\n{line}").of("s")
    assert (fact.kind, fact.members, fact.bytes) == (kind, members, None)


def test_a_record_may_be_named_as_in_c() -> None:
    assert facts_in('[["struct s"]]\nfirst = "a"').of("s")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[[s]]\nofset = ["a"]',
            (
                "[[s]] number 1: there is no `ofset` (did you mean offset?); "
                "a fact may have offset, range, positional, "
                "first, last, wall, together, apart, randomized, size, bytes, reason, place"
            ),
        ),
        (
            '[[s]]\nreason = "because"',
            (
                "[[s]] number 1 says nothing; "
                "a table tells one fact, one of offset, range, positional, first, last, wall, together, "
                "apart, randomized, size"
            ),
        ),
        (
            '[[s]]\nfirst = "a"\n[[s]]\nfirst = "a"\nsize = 8',
            (
                "[[s]] number 2 says `first` and `size`; "
                "a table tells one fact, one of offset, range, positional, first, last, wall, "
                "together, apart, randomized, size"
            ),
        ),
        ("[[s]]\noffset = 3", "[[s]] number 1: `offset` is a list of members' names, not 3"),
        ('[[s]]\nrange = ["a"]', "[[s]] number 1: `range` names 1 members, at least 2 are needed"),
        ('[[s]]\napart = ["a", "b"]\nbytes = 0', "[[s]] number 1: `bytes` is a number of bytes above 0, not 0"),
        (
            '[[s]]\nfirst = "a"\nbytes = 64',
            "[[s]] number 1: `bytes` is the line that members are `apart` on; `first` has none",
        ),
        (
            '[[s]]\nsize = "small"',
            '[[s]] number 1: `size` is a number of bytes, "now", "page" or "slab", not \'small\'',
        ),
        ("[[s]]\nsize = 8\nbytes = 8", "[[s]] number 1: `size` has the bytes itself, so `bytes` says nothing here"),
        ("[[s]]\nsize = true", "[[s]] number 1: `size` is a number of bytes above 0, not True"),
        ('[[s]]\nfirst = "a"\nreason = 3', "[[s]] number 1: `reason` is one line of text, not 3"),
        ("[s]\nsize = 8", "facts of a record stand in tables of its name, `[[s]]`"),
        ("s = 3", "facts of a record stand in tables of its name, `[[s]]`"),
    ],
)
def test_what_is_no_fact_is_told_with_its_place(text: str, message: str) -> None:
    assert said(text) == message


def test_a_file_that_is_no_toml_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "facts.toml"
    path.write_text("[[s]\n")
    with pytest.raises(ConstraintsError, match=r"facts.toml: .*line 1.*; docs/constraints.md lists what facts there"):
        read_facts(path)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConstraintsError, match=r"cannot read .*none.toml: No such file or directory; name a TOML file"):
        read_facts(tmp_path / "none.toml")


def test_a_binary_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "vmlinux").write_bytes(b"\x7fELF\xff")
    with pytest.raises(ConstraintsError, match="vmlinux: 'utf-8' codec can't decode"):
        read_facts(tmp_path / "vmlinux")


EITHER = union("", scalar("left"), scalar("right"))
LAYOUTS = table(EITHER, struct("mapping", scalar("host"), scalar("lock"), held("", EITHER)))


def checked(text: str) -> None:
    check_facts(facts_in(text), LAYOUTS)


def test_members_of_anonymous_records_are_known() -> None:
    checked('[[mapping]]\noffset = ["host", "right"]')


def test_a_record_that_is_not_there_is_told_with_a_near_name() -> None:
    with pytest.raises(ConstraintsError, match="struct maping, which the ELF file does not have; did you mean mapping"):
        checked('[[maping]]\noffset = "host"')


def test_a_member_that_is_not_there_is_told_with_a_near_name() -> None:
    with pytest.raises(ConstraintsError, match=r"mapping.locks, which the ELF file does not have; did you mean lock\?"):
        checked('[[mapping]]\noffset = "locks"')


def test_a_member_of_another_build_is_known_too() -> None:
    larger = table(struct("mapping", scalar("debug")))
    check_facts(facts_in('[[mapping]]\noffset = "debug"'), LAYOUTS, larger)


def test_a_member_that_is_like_none_is_told_what_to_do() -> None:
    with pytest.raises(ConstraintsError, match="or name the build that has it with --configuration"):
        checked('[[mapping]]\noffset = "zzzz"')
