# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures and names of an intent file are replaced; every other byte stays."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linesmith.analyzer.errors import IntentError
from linesmith.analyzer.intent.rewriting import Rewrite, rewritten

TEXT = """\
# what we measured
[[type]]
name = "inode"  # the big one
reason = "path walk"
[type.budget]
bytes = 576   # since 6.1
lines = 9
[[type.group]]
name = "rx"
members = [ "a",
            "b" ]   # [not the end
bytes=16

[[type]]
name = "pipe"
reason = "budget = { bytes = 1 }"
budget = { lines = 1_0, bytes = 64 } # inline
"""
INODE, PIPE = ("type", 0), ("type", 1)


@pytest.mark.parametrize(
    ("wanted", "changes"),
    [
        (
            (Rewrite((*INODE, "budget", "bytes"), 640), Rewrite((*INODE, "group", 0, "bytes"), 24)),
            (("576   #", "640   #"), ("bytes=16", "bytes=24")),
        ),
        (
            (Rewrite((*INODE, "group", 0, "members"), ("a", "c")),),
            (('[ "a",\n            "b" ]   #', '["a", "c"]   #'),),
        ),
        (
            (Rewrite((*PIPE, "budget", "bytes"), 128), Rewrite((*PIPE, "budget", "lines"), 2)),
            (("{ lines = 1_0, bytes = 64 }", "{ lines = 2, bytes = 128 }"),),
        ),
    ],
    ids=["figures", "names over several lines", "figures of inline tables"],
)
def test_values_are_replaced_and_comments_stay(
    wanted: tuple[Rewrite, ...], changes: tuple[tuple[str, str], ...]
) -> None:
    expected = TEXT
    for old, new in changes:
        expected = expected.replace(old, new)
    found = rewritten(TEXT, wanted, "linesmith.toml")
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
    text = f'[[type]]\nname = "s"\nreason = "r"\n{group}'
    at = ("type", 0, "group", 0)
    wanted = Rewrite((*at, "members"), ("a", "b", "c")), Rewrite((*at, "bytes"), 24)
    found = rewritten(text, wanted, "linesmith.toml")
    assert (found.text, found.left) == (text, wanted)


def test_a_text_that_is_no_intent_file_is_refused() -> None:
    with pytest.raises(IntentError, match="no TOML"):
        rewritten("[[type]\n", (), "linesmith.toml")


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
