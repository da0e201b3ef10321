# SPDX-License-Identifier: GPL-2.0-or-later
"""The file in which a person tells what only the source shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from hand_made import held, scalar, struct, table, union

from linesmith.analyzer.base.errors import ConstraintsError
from linesmith.analyzer.model import FactKind, SourceFact, SourceFacts
from linesmith.tuner.constraints.facts import check_facts, read_facts

FILE = """
[[mapping]]
offset = ["host", "ops"]
reason = "crash dumps are read with them"
place = "tools/dump.py:12"

[[mapping]]
apart = ["tree", "lock"]
bytes = 128

[["struct cache"]]
size = 192
"""


def facts_in(folder: Path, text: str) -> SourceFacts:
    """What a file with this text tells."""
    (folder / "facts.toml").write_text(text)
    return read_facts(folder / "facts.toml")


def test_a_table_tells_a_fact_of_the_record_it_is_named_after(tmp_path: Path) -> None:
    found = facts_in(tmp_path, FILE)
    assert found.of("mapping") == (
        SourceFact(FactKind.OFFSET, ("host", "ops"), "crash dumps are read with them", "tools/dump.py:12"),
        SourceFact(FactKind.APART, ("tree", "lock"), "they must be on different lines", "facts.toml", 128),
    )
    assert found.of("cache") == (SourceFact(FactKind.SIZE, (), "it must not become larger", "facts.toml", 192),)
    assert found.of("other") == ()


def test_each_kind_of_fact_has_its_word(tmp_path: Path) -> None:
    words = {
        'range = ["a", "b"]': (FactKind.RANGE, "a", "b"),
        'together = ["a", "b"]': (FactKind.TOGETHER, "a", "b"),
        'positional = "b"': (FactKind.POSITIONAL, "b"),
        'first = "a"': (FactKind.FIRST, "a"),
        'last = "b"': (FactKind.LAST, "b"),
        'wall = "b"': (FactKind.WALL, "b"),
        "randomized = true": (FactKind.RANDOMIZED,),
        'size = "now"': (FactKind.SIZE,),
        'size = "page"': (FactKind.PAGE,),
        'size = "slab"': (FactKind.SLAB,),
        'offset = "a.inner"': (FactKind.OFFSET, "a"),
    }
    found = {line: facts_in(tmp_path, f"[[s]]\n{line}").of("s")[0] for line in words}
    assert {line: (fact.kind, *fact.members) for line, fact in found.items()} == words
    assert {fact.bytes for fact in found.values()} == {None}


KINDS = "offset, range, positional, first, last, wall, together, apart, randomized, size"
ONE_FACT = f"a table holds one fact, one of {KINDS}"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('ofset = ["a"]', "Object contains unknown field `ofset`"),
        ('reason = "because"', f" has nothing; {ONE_FACT}"),
        ('first = "a"\nsize = 8', f" has `first` and `size`; {ONE_FACT}"),
        ("offset = 3", "Expected `str | array | null`, got `int` - at `$.offset`"),
        ('range = ["a"]', "`range` names 1 members, at least 2 are needed"),
        ('apart = ["a", "b"]\nbytes = 0', "Expected `int` >= 1 - at `$.bytes`"),
        ('first = "a"\nbytes = 64', "`bytes` is the line that members are `apart` on; `first` has none"),
        ('size = "small"', "Invalid enum value 'small' - at `$.size`"),
        ("size = 8\nbytes = 8", "`bytes` is the line that members are `apart` on; `size` has none"),
    ],
)
def test_what_is_no_fact_is_told_with_its_place(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ConstraintsError) as caught:
        facts_in(tmp_path, f'[[s]]\nfirst = "a"\n[[s]]\n{line}')
    assert f"facts.toml: [[s]] number 2{'' if message.startswith(' ') else ': '}{message}; docs/" in str(caught.value)


@pytest.mark.parametrize("text", ["[s]\nsize = 8", "s = 3"])
def test_facts_stand_in_tables_of_the_records_name(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConstraintsError, match=r"write facts of a record in tables with its name, `\[\[s\]\]`;"):
        facts_in(tmp_path, text)


EITHER = union("", scalar("left"), scalar("right"))
LAYOUTS = table(EITHER, struct("mapping", scalar("host"), scalar("lock"), held("", EITHER)))


def test_members_of_anonymous_records_and_of_another_build_are_known(tmp_path: Path) -> None:
    check_facts(facts_in(tmp_path, '[[mapping]]\noffset = ["host", "right"]'), LAYOUTS)
    check_facts(facts_in(tmp_path, '[[mapping]]\noffset = "debug"'), LAYOUTS, table(struct("mapping", scalar("debug"))))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[maping]]\noffset = "host"', "struct maping, which the ELF file does not have; did you mean mapping"),
        ('[[mapping]]\noffset = "locks"', r"mapping.locks, which the ELF file does not have; did you mean lock\?"),
        ('[[mapping]]\noffset = "zzzz"', "or name the build that has it with --configuration"),
    ],
)
def test_what_is_not_there_is_told_with_a_near_name(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConstraintsError, match=message):
        check_facts(facts_in(tmp_path, text), LAYOUTS)
