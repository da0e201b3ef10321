# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``linesmith.toml`` may say, and the sentence for what it may not."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linesmith.analyzer.errors import IntentError
from linesmith.analyzer.intent import FILE_NAME, intent_in, intent_of_tree, read_intent
from linesmith.analyzer.intent.statements import statements
from linesmith.analyzer.model import (
    NO_INTENT,
    Isolation,
    LintChoice,
    MemberGroup,
    SizeBudget,
    Suppression,
    TypeIntent,
)

WHOLE = Path(__file__).with_name("sources").joinpath("whole.toml").read_text()


def test_everything_that_a_file_may_say() -> None:
    found = intent_in(WHOLE)

    assert found.lint == LintChoice(("all",), ("lock-moved",), ("tcp_*", "inode"))
    assert found.types == (
        TypeIntent(
            record="address_space",
            reason="exec storms wait for i_mmap_rwsem",
            link="https://lore.kernel.org/all/1",
            configuration=("CONFIG_SMP", "!CONFIG_PREEMPT_RT"),
            groups=(MemberGroup("tree", ("i_pages", "nrpages"), 1, 64),),
            isolations=(Isolation(("i_mmap_rwsem",), ("i_mmap",), 128, 0.25),),
            budget=SizeBudget(192, 3, 21),
            hot=("i_mmap", "i_mmap_rwsem"),
            read_mostly=("a_ops",),
            write_hot=("i_mmap_rwsem",),
            place="linesmith.toml:7",
        ),
        TypeIntent("inode", "path walk", place="linesmith.toml:36"),
    )
    assert found.suppressions == (
        Suppression(
            "avoidable-hole", "ixgbe_*", "the device reads it", expires=date(2027, 1, 31), place="linesmith.toml:40"
        ),
    )


def test_an_isolation_without_more_is_from_all_on_one_line_in_all_phases() -> None:
    (found,) = intent_in('[[type]]\nname="a"\nreason="r"\n[[type.isolate]]\nmembers=["b"]').types
    assert found.isolations == (Isolation(("b",), (), 64, 0.0),)


A = '[[type]]\nname = "a"\nreason = "r"\n'
ISOLATE = '[[type.isolate]]\nmembers = ["b"]\n'
REFUSED = {
    "colour = 1": ":1: there is no 'colour' here;",
    A + '\nread_mostly = ["b"]': ":5: there is no 'read_mostly' here (did you mean `read-mostly`?);",
    '[[type]]\nname = "a"\n': ":1: `reason` is missing: it says why the layout is to be so;",
    '[[type]]\nname = "a"\nreason = " "': ":3: `reason` is missing",
    '[[type]]\nreason = "r"': ":1: `name` is missing: it says what is meant;",
    '[[type]]\nname = "a"\nreason = "a\\nb"': ":3: `reason` is one line of text;",
    '[[type]]\nname = "a"\nreason = "a\\u001b[2J"': ":3: `reason` is one line of text;",
    '[[type]]\nname = "a b"\nreason = "r"': ":2: `name` is the name of a struct or union, and 'a b' is none;",
    '[type]\nname = "a"': ":1: each `type` is a table of its own, `[[type]]`;",
    A + 'hot = "b"': ":4: `hot` is a list of members such as `a` or `a.b`;",
    A + 'hot = [\n  "b",\n  "../c",\n]': ":4: `hot` is a list of members such as `a` or `a.b`, and '../c' is none;",
    A + 'link = "javascript:alert(1)"': ":4: `link` is a commit or an http(s) address,",
    A + 'configuration = ["SMP"]': ":4: `configuration` is a list of symbols",
    A + 'configuration = ["CONFIG_A", "!CONFIG_A"]': ":4: CONFIG_A cannot be set and not set, so this would never",
    A + "[type.budget]\nbytes = 0": ":5: `bytes` is a number above 0;",
    A + "[type.budget]\nbytes = true": ":5: `bytes` is a number above 0;",
    A + "budget = 7": ":4: `budget` is a table, `[type.budget]`;",
    A + '[[type.group]]\nname = "g"\nmembers = []': ":6: `members` names none;",
    A + '[[type.isolate]]\nmembers = ["b"]\nfrom = ["b"]': ":6: `b` cannot be isolated from itself;",
    f"{A}{ISOLATE}bytes = 100": ":6: `bytes` is the size of a cache line or a pair of them: 32, 64, 128, 256",
    A + '[[type.isolate]]\nmembers = ["b"]\nphases = nan': ":6: `phases` is a share from 0 to 1;",
    '[[suppress]]\nrule = "*"\ntype = "a"': ":1: `reason` is missing: it says why that may be;",
    '[[suppress]]\nrule = "*"\ntype = "a"\nreason = "r"\nexpires = "2027-01-31"': ":5: `expires` is a date",
    '[lint]\nselect = ["a b"]': ":2: `select` is a list of rules or `all`, and 'a b' is none;",
    "[lint]\nselect = [": ":2: this is no TOML: Invalid value; mend that line",
    "a = 1\na = 2": ":2: this is no TOML: Cannot overwrite a value; mend that line",
    "\ufeffa = 1": ":1: this is no TOML: Invalid statement; mend that line",
    "x = " + "9" * 5000: ":1: this is no TOML:",
}


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_what_a_file_may_not_say_is_told_with_its_line(text: str) -> None:
    with pytest.raises(IntentError) as error:
        intent_in(text)
    assert str(error.value).startswith(f"linesmith.toml{REFUSED[text]}")


def test_a_second_group_of_one_name_is_refused() -> None:
    group = '[[type.group]]\nname = "g"\nmembers = ["b"]\n'
    with pytest.raises(IntentError, match=r":8: the type has a group `g` already"):
        intent_in(A + group + group)


@pytest.mark.parametrize("text", ["x = " + "[" * 100_000, "a." * 250_000 + "a = 1", "[" + "a." * 250_000 + "a]"])
def test_nesting_is_refused_before_it_is_followed(text: str) -> None:
    with pytest.raises(IntentError, match=r"linesmith\.toml:1: nested more than 8 deep; write it flatter"):
        intent_in(text)


def test_a_list_longer_than_any_record_is_refused() -> None:
    names = ", ".join(f'"m{number}"' for number in range(513))
    with pytest.raises(IntentError, match=r":4: `hot` has 513 entries, more than the 512 that are allowed"):
        intent_in(f"{A}hot = [{names}]")


def test_more_groups_than_any_record_has_are_refused() -> None:
    groups = "".join(f'[[type.group]]\nname = "g{number}"\nmembers = ["b"]\n' for number in range(65))
    with pytest.raises(IntentError, match=r":4: there are 65 tables `\[\[type\.group\]\]`, more than the 64 allowed"):
        intent_in(A + groups)


def test_a_tree_without_a_file_wants_nothing(tmp_path: Path) -> None:
    assert intent_of_tree(tmp_path) == NO_INTENT


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("password = 1")
    (tmp_path / FILE_NAME).symlink_to("secret")
    with pytest.raises(IntentError, match="is a symbolic link, which is not followed"):
        intent_of_tree(tmp_path)


def test_nobody_waits_for_a_fifo(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / FILE_NAME)
    with pytest.raises(IntentError, match="is no regular file"):
        intent_of_tree(tmp_path)


def test_a_file_of_more_than_a_mebibyte_is_refused(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.write_text("#" * (1 << 20) + "\n")
    with pytest.raises(IntentError, match="is larger than 1 MiB"):
        read_intent(path)


def test_bytes_that_are_no_utf_8_are_told_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(b"# one\n# \xe9t\xe9\n")
    with pytest.raises(IntentError, match=r"linesmith\.toml:2: a byte that is no UTF-8"):
        read_intent(path)


def test_lines_are_found_behind_strings_that_look_like_headers() -> None:
    text = 'a = """\n[[type]]\n"quoted" \\""""\n\n[[type]]\nb = \'\'\'\n#\n\'\'\'\r\n'
    text += '"c.d" = 1 # ]\n[type.e]\n[[type]]\nf.g = {h = "}"}\n'
    assert [(one.path, one.line) for one in statements(text)] == [
        (("a",), 1),
        (("type", 0), 5),
        (("type", 0, "b"), 6),
        (("type", 0, "c.d"), 9),
        (("type", 0, "e"), 10),
        (("type", 1), 11),
        (("type", 1, "f", "g"), 12),
    ]


@given(st.text(st.sampled_from("[]{}=.#\"'\\\n\r\t ,a1-+_:T") | st.characters(), max_size=60))
def test_any_text_is_read_or_refused_in_a_sentence(text: str) -> None:
    try:
        intent_in(text)
        refusal = ""
    except IntentError as error:
        refusal = str(error)
    assert not refusal or refusal.startswith("linesmith.toml:")
