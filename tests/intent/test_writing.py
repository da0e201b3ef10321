# SPDX-License-Identifier: GPL-2.0-or-later
"""Intents as they are written and read again, and what is added to or replaced in a file that somebody keeps."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linesmith.analyzer.base.errors import IntentError
from linesmith.analyzer.intent.file import Rewrite, add_to, rewritten, written
from linesmith.analyzer.intent.reading import intent_in, read_intent
from linesmith.analyzer.model import Intent, Isolation, LintChoice, MemberGroup, SizeBudget, Suppression, TypeIntent

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
rules = st.lists(st.sampled_from(("all", "lock-moved", "a-*")), unique=True).map(tuple)
suppressions = st.builds(
    Suppression, st.sampled_from(("*", "lock-moved")), word, text, paths | st.just("*"), st.none() | st.dates()
)
intents = st.builds(
    Intent,
    st.just(""),
    st.lists(types, max_size=3).map(tuple),
    st.lists(suppressions, max_size=3).map(tuple),
    st.builds(LintChoice, rules, rules, st.lists(word, unique=True, max_size=3).map(tuple)),
)


def without_places(intent: Intent) -> Intent:
    bare = tuple(replace(one, place="") for one in intent.types)
    return replace(
        intent, path="", types=bare, suppressions=tuple(replace(one, place="") for one in intent.suppressions)
    )


@settings(max_examples=50)
@given(intents)
def test_what_is_written_is_read_as_it_was_from_the_line_on_which_it_begins(intent: Intent) -> None:
    text = written(intent)
    found = intent_in(text)
    assert without_places(found) == intent
    lines = [text.split("\n")[int(one.place.partition(":")[2]) - 1] for one in found.types]
    assert lines == ["[[type]]"] * len(intent.types)


def test_a_file_is_written_in_few_lines() -> None:
    intent = TypeIntent(
        record="address_space",
        reason='exec storms wait for "i_mmap"',
        budget=SizeBudget(bytes=256, objects_per_slab=21),
        isolations=(Isolation(("i_mmap_rwsem",), ("i_mmap",)), Isolation(("i_pages",), bytes=128, phases=0.25)),
        hot=tuple(f"quite_a_long_member_{number}" for number in range(4)),
    )
    device = Suppression("avoidable-hole", "ixgbe_*", "the device reads it", expires=date(2027, 1, 31))
    assert written(Intent(types=(intent,), suppressions=(device,))) == (SOURCES / "written.toml").read_text()


def test_a_name_with_a_line_end_stays_one_text() -> None:
    """No compiler makes such a name, but debug information may hold it."""
    text = written(Intent(types=(TypeIntent('a"\n[[type]]\x7f', "why"),)))
    assert tomllib.loads(text)["type"][0]["name"] == 'a"\n[[type]]\x7f'


PIPE = TypeIntent("pipe", "full")
ADDED = '[[type]]\nname = "pipe"\nreason = "full"\n'


def test_what_is_there_stays_to_the_byte_when_a_type_is_added(tmp_path: Path) -> None:
    path, kept = tmp_path / "linesmith.toml", (SOURCES / "whole.toml").read_text().replace("\n", "\r\n").rstrip()
    path.write_bytes(kept.encode())
    path.chmod(0o640)
    add_to(path, (PIPE,))
    assert path.read_bytes().decode() == f"{kept}\n\n{ADDED}"
    assert intent_in(path.read_bytes().decode()).types[-1].record == "pipe"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_not_there_is_made_and_an_entry_for_another_configuration_is_added(tmp_path: Path) -> None:
    path = tmp_path / "linesmith.toml"
    add_to(path, (PIPE,))
    assert path.read_text() == ADDED
    add_to(path, (TypeIntent("pipe", "small", configuration=("!CONFIG_SMP",)),))
    assert [one.reason for one in read_intent(path).types] == ["full", "small"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"# mine\n{ADDED}", r"linesmith\.toml:2: pipe has an entry, which is not changed"),
        ("[[type]\n", "not valid TOML"),
        (
            'type = [{name = "inode", reason = "r"}]\n',
            "cannot append to it .*; write each type as a table",
        ),
        (None, "is a symbolic link"),
    ],
    ids=["an entry of that name", "no TOML", "an inline table", "a link is not written through"],
)
def test_a_file_that_cannot_be_added_to_is_not_touched(tmp_path: Path, text: str | None, said: str) -> None:
    path, other = tmp_path / "linesmith.toml", tmp_path / "other"
    other.write_text(text or "")
    other.rename(path) if text else path.symlink_to("other")
    with pytest.raises(IntentError, match=said):
        add_to(path, (PIPE,))
    assert path.read_text() == (text or "")


TEXT = (SOURCES / "rewritten.toml").read_text()
INODE, PIPES = ("type", 0), ("type", 1)


@pytest.mark.parametrize(
    ("wanted", "changes"),
    [
        (
            {(*INODE, "budget", "bytes"): 640, (*INODE, "group", 0, "bytes"): 24},
            {"576   #": "640   #", "bytes=16": "bytes=24"},
        ),
        ({(*INODE, "group", 0, "members"): ("a", "c")}, {'[ "a",\n            "b" ]   #': '["a", "c"]   #'}),
        (
            {(*PIPES, "budget", "bytes"): 128, (*PIPES, "budget", "lines"): 2},
            {"{ lines = 1_0, bytes = 64 }": "{ lines = 2, bytes = 128 }"},
        ),
    ],
    ids=["figures", "names over several lines", "figures of inline tables"],
)
def test_values_are_replaced_and_comments_stay(
    wanted: dict[tuple[str | int, ...], int | tuple[str, ...]], changes: dict[str, str]
) -> None:
    expected = TEXT
    for old, new in changes.items():
        expected = expected.replace(old, new)
    found = rewritten(TEXT, [Rewrite(*one) for one in wanted.items()], "linesmith.toml")
    assert (found.text, found.left) == (expected, ())


@pytest.mark.parametrize(
    "group",
    [
        '[[type.group]]\nname = "g"\nmembers = ["a", # hot\n"b"]\nbytes = 16\n',
        '[[type.group]]\nname = "g"\nmembers = [\n    # of the reader\n    "a", "b"]\nbytes = 16\n',
        '[[type.group]]\nname = "g"\nmembers = ["a", "b" # last\n]\nbytes = 16\n',
        'group = [{ name = "g", members = ["a"], bytes = 8 }]\n',
    ],
)
def test_names_with_comments_between_them_and_inline_groups_are_left_with_their_limits(group: str) -> None:
    text, at = f"{ADDED}{group}", ("type", 0, "group", 0)
    wanted = Rewrite((*at, "members"), ("a", "b", "c")), Rewrite((*at, "bytes"), 24)
    found = rewritten(text, wanted, "linesmith.toml")
    assert (found.text, found.left) == (text, wanted)
    with pytest.raises(IntentError, match="not valid TOML"):
        rewritten(f"[{text}", wanted, "linesmith.toml")


COMMENT = st.sampled_from(("", "  # why", " # = [1]", "\t# 'x'"))
NAMES = st.lists(st.sampled_from(("a", "b.c", "d[1]", "e")), min_size=1, unique=True)


@settings(max_examples=40)
@given(COMMENT, COMMENT, NAMES, NAMES, st.integers(1, 1 << 31), st.sampled_from(("\n", "\r\n")))
def test_whatever_stands_around_it_only_the_value_changes(
    first: str, second: str, before: list[str], after: list[str], size: int, ending: str
) -> None:
    listed = ", ".join(f"'{one}'" for one in before)
    lines = ("[[type]]", 'name = "s"', 'reason = "#"', "[type.budget]", f"bytes = 8{first}", "[[type.group]]")
    text = ending.join((*lines, 'name = "g"', f"members = [{listed}]{second}", ""))
    wanted = Rewrite(("type", 0, "budget", "bytes"), size), Rewrite(("type", 0, "group", 0, "members"), tuple(after))
    found = rewritten(text, wanted, "linesmith.toml").text
    kept = found.replace(f"bytes = {size}", "bytes = 8").split(ending)
    assert kept[:7] == text.split(ending)[:7]
    assert kept[7].endswith(f"]{second}")
    assert tomllib.loads(found)["type"][0]["group"][0]["members"] == after
