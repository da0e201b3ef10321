# SPDX-License-Identifier: GPL-2.0-or-later
"""Intents as they are written, and read again."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from datetime import date

from hypothesis import given, settings
from hypothesis import strategies as st

from linesmith.analyzer.intent import intent_in, written, written_type
from linesmith.analyzer.model import (
    Intent,
    Isolation,
    LintChoice,
    MemberGroup,
    SizeBudget,
    Suppression,
    TypeIntent,
)

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


WRITTEN = r"""[[type]]
name = "address_space"
reason = "exec storms wait for \"i_mmap\""
hot = [
    "quite_a_long_member_0", "quite_a_long_member_1", "quite_a_long_member_2",
    "quite_a_long_member_3",
]

[type.budget]
bytes = 256
objects-per-slab = 21

[[type.isolate]]
members = ["i_mmap_rwsem"]
from = ["i_mmap"]

[[type.isolate]]
members = ["i_pages"]
bytes = 128
phases = 0.25
"""


def test_a_type_is_written_in_few_lines() -> None:
    intent = TypeIntent(
        record="address_space",
        reason='exec storms wait for "i_mmap"',
        budget=SizeBudget(bytes=256, objects_per_slab=21),
        isolations=(Isolation(("i_mmap_rwsem",), ("i_mmap",)), Isolation(("i_pages",), bytes=128, phases=0.25)),
        hot=tuple(f"quite_a_long_member_{number}" for number in range(4)),
    )
    assert written_type(intent) == WRITTEN


def test_a_suppression_has_its_day_and_a_name_with_a_line_end_stays_one_text() -> None:
    """No compiler makes such a name, but debug information may hold it."""
    one = Suppression("avoidable-hole", "ixgbe_*", "the device reads it", expires=date(2027, 1, 31))
    assert written(Intent("", (), (one,))) == (
        '[[suppress]]\nrule = "avoidable-hole"\ntype = "ixgbe_*"\n'
        'reason = "the device reads it"\nexpires = 2027-01-31\n'
    )
    text = written(Intent(types=(TypeIntent('a"\n[[type]]\x7f', "why"),)))
    assert tomllib.loads(text)["type"][0]["name"] == 'a"\n[[type]]\x7f'
