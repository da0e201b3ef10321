# SPDX-License-Identifier: GPL-2.0-or-later
"""Intents as they are written and read again, and what is added to or replaced in a file that somebody keeps."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linesmith.analyzer.base.errors import IntentError
from linesmith.analyzer.intent.file import add_to, written
from linesmith.analyzer.intent.reading import intent_in, read_intent
from linesmith.analyzer.model import Isolation, MemberGroup, SizeBudget, TypeIntent

SOURCES = Path(__file__).with_name("sources")
WORDS = ("a", "b", "i_mmap", "i_mmap_rwsem", "_tx", "__x", *(f"quite_a_long_name_{number}" for number in range(12)))
word = st.sampled_from(WORDS)
paths = st.sampled_from((*WORDS, *(f"{name}.b" for name in WORDS), *(f"{name}[3].b" for name in WORDS)))
members = st.lists(paths, unique=True, max_size=12).map(tuple)
some_members = st.lists(paths, unique=True, min_size=1, max_size=4).map(tuple)
counts = st.none() | st.integers(1, 1 << 20)
line = st.text("ab z\"\\'#[]{}=,.!\u00fc\u20ac\U0001f600", max_size=20)
text = line.map(str.strip).filter(bool)
symbols = st.lists(word.map("CONFIG_{}".format) | word.map("!CONFIG_N{}".format), unique=True, max_size=3).map(tuple)
groups = st.lists(
    st.builds(MemberGroup, word, some_members, counts, counts), unique_by=lambda one: one.name, max_size=3
)
isolations = st.builds(
    lambda one, other, size, share: Isolation(one, tuple(name for name in other if name not in one), size, share),
    some_members,
    members,
    st.sampled_from((32, 64, 128, 256)),
    st.floats(0, 1),
)
types = st.builds(
    TypeIntent,
    record=word,
    reason=text,
    link=st.sampled_from(("", "https://lore.kernel.org/all/a@b/", 'd3b1a9a778e1 ("fs: \\o/")')),
    configuration=symbols,
    groups=groups.map(tuple),
    isolations=st.lists(isolations, max_size=2).map(tuple),
    budget=st.builds(SizeBudget, counts, counts, counts),
    hot=members,
    read_mostly=members,
    write_hot=members,
)


@settings(max_examples=50)
@given(types)
def test_what_is_written_is_read_as_it_was_from_the_line_on_which_it_begins(intent: TypeIntent) -> None:
    (found,) = intent_in(f"\n{written(intent)}").types
    assert found == replace(intent, place="linesmith.toml:2")


def test_a_type_is_written_in_few_lines() -> None:
    intent = TypeIntent(
        record="address_space",
        reason='exec storms wait for "i_mmap"',
        budget=SizeBudget(bytes=256, objects_per_slab=21),
        isolations=(Isolation(("i_mmap_rwsem",), ("i_mmap",)), Isolation(("i_pages",), bytes=128, phases=0.25)),
        hot=tuple(f"quite_a_long_member_{number}" for number in range(4)),
    )
    assert written(intent) == (SOURCES / "written.toml").read_text()


def test_a_name_with_a_line_end_stays_one_text() -> None:
    """No compiler makes such a name, but debug information may hold it."""
    text = written(TypeIntent('a"\n[[type]]\x7f', "why"))
    assert tomllib.loads(text)["type"][0]["name"] == 'a"\n[[type]]\x7f'


PIPE = TypeIntent("pipe", "full")
ADDED = '[[type]]\nname = "pipe"\nreason = "full"\n'


def test_what_is_there_stays_to_the_byte_when_a_type_is_added(tmp_path: Path) -> None:
    path, kept = tmp_path / "linesmith.toml", (SOURCES / "whole.toml").read_text().replace("\n", "\r\n").rstrip()
    path.write_bytes(kept.encode())
    path.chmod(0o640)
    add_to(path, PIPE)
    assert path.read_bytes().decode() == f"{kept}\n\n{ADDED}"
    assert intent_in(path.read_bytes().decode()).types[-1].record == "pipe"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_not_there_is_made_and_an_entry_for_another_configuration_is_added(tmp_path: Path) -> None:
    path = tmp_path / "linesmith.toml"
    add_to(path, PIPE)
    assert path.read_text() == ADDED
    add_to(path, TypeIntent("pipe", "small", configuration=("!CONFIG_SMP",)))
    assert [one.reason for one in read_intent(path).types] == ["full", "small"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"# mine\n{ADDED}", r"linesmith\.toml:2: pipe has an entry, which is not changed"),
        ("[[type]\n", "not valid TOML"),
        ('type = [{name = "inode", reason = "r"}]\n', "cannot append to it .*; write each type as a table"),
        (None, "is a symbolic link"),
    ],
    ids=["an entry of that name", "no TOML", "an inline table", "a link is not written through"],
)
def test_a_file_that_cannot_be_added_to_is_not_touched(tmp_path: Path, text: str | None, said: str) -> None:
    path, other = tmp_path / "linesmith.toml", tmp_path / "other"
    other.write_text(text or "")
    other.rename(path) if text else path.symlink_to("other")
    with pytest.raises(IntentError, match=said):
        add_to(path, PIPE)
    assert path.read_text() == (text or "")
