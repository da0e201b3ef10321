# SPDX-License-Identifier: GPL-2.0-or-later
"""What linesmith.toml may say, the sentence for what it may not, and how an intent is written into it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linesmith.analyzer.base.errors import IntentError
from linesmith.analyzer.base.toml import statements
from linesmith.analyzer.intent.check import applies, symbols_in, undecided
from linesmith.analyzer.intent.entry import add_to, written
from linesmith.analyzer.intent.reading import FILE_NAME, intent_in, intent_of_tree, read_intent
from linesmith.analyzer.model import (
    NO_INTENT,
    Intent,
    Isolation,
    LintChoice,
    MemberGroup,
    SizeBudget,
    Suppression,
    TypeIntent,
)

SOURCES = Path(__file__).with_name("sources")


def test_everything_that_a_file_may_say() -> None:
    found = intent_in((SOURCES / "whole.toml").read_text())
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


REFUSED = [
    pytest.param(text, said, id=title)
    for title, text, said in re.findall(
        r"^# (.*)\n([^\0]*?)\n! (.*)$", (SOURCES / "refused.txt").read_text(), re.MULTILINE
    )
]
ENTRY = '[[type]]\nname = "a"\nreason = "r"\n'
MANY = ", ".join(f'"m{number}"' for number in range(513))
GROUPS = "".join(f'[[type.group]]\nname = "g{number}"\nmembers = ["b"]\n' for number in range(65))
DEEP = ":1: nested more than 8 deep; use fewer levels"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *REFUSED,
        pytest.param("\ufeffa = 1", ":1: not valid TOML: Invalid statement; fix that line", id="a byte order mark"),
        pytest.param("x = " + "9" * 5000, ":1: not valid TOML:", id="a number without end"),
        # Nesting is refused before it is followed.
        pytest.param("x = " + "[" * 100_000, DEEP, id="deep lists"),
        pytest.param("a." * 250_000 + "a = 1", DEEP, id="a deep key"),
        pytest.param("[" + "a." * 250_000 + "a]", DEEP, id="a deep table"),
        pytest.param(
            f"{ENTRY}hot = [{MANY}]", ":4: `hot`: expected a list of length <= 512;", id="a list longer than any record"
        ),
        pytest.param(ENTRY + GROUPS, ":4: `group`: expected a list of length <= 64;", id="too many groups"),
    ],
)
def test_what_a_file_may_not_say_is_told_with_its_line(text: str, said: str) -> None:
    with pytest.raises(IntentError) as error:
        intent_in(text)
    assert str(error.value).startswith(f"linesmith.toml{said}")


def test_a_tree_without_a_file_wants_nothing(tmp_path: Path) -> None:
    assert intent_of_tree(tmp_path) == NO_INTENT


def linked(path: Path) -> None:
    (path.parent / "secret").write_text("password = 1")
    path.symlink_to("secret")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (linked, "is a symbolic link, which is not followed"),
        (os.mkfifo, "is not a regular file"),  # nobody waits for it
        (lambda path: path.write_text("#" * (1 << 20) + "\n"), "is larger than 1 MiB"),
        (lambda path: path.write_bytes(b"# one\n# \xe9t\xe9\n"), r"linesmith\.toml:2: not valid UTF-8"),
    ],
    ids=["a link", "a fifo", "large", "no UTF-8"],
)
def test_what_is_no_such_file_is_refused(tmp_path: Path, make: Callable[[Path], object], said: str) -> None:
    make(tmp_path / FILE_NAME)
    with pytest.raises(IntentError, match=said):
        intent_of_tree(tmp_path)


def test_lines_are_found_behind_strings_that_look_like_headers() -> None:
    text = 'a = """\n[[type]]\n"quoted" \\""""\n\n[[type]]\nb = \'\'\'\n#\n\'\'\'\r\n'
    text += '"c.d" = 1 # ]\n[type.e]\n[[type]]\nf.g = {h = "}"}\n'
    assert list(statements(text)) == [
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


def wanted(*conditions: str) -> TypeIntent:
    return TypeIntent("inode", "path walk", configuration=conditions, place="linesmith.toml:3")


@pytest.mark.parametrize(
    ("conditions", "held"),
    [
        ((), True),
        (("CONFIG_SMP",), True),
        (("!CONFIG_SMP",), False),
        (("CONFIG_SMP", "CONFIG_NUMA"), False),
        (("CONFIG_SMP", "!CONFIG_NUMA"), True),
        (("CONFIG_MODULE", "CONFIG_EMPTY", "CONFIG_HEX"), True),
        (("!CONFIG_NO", "!CONFIG_OFF"), True),
    ],
)
def test_an_intent_holds_where_all_its_conditions_do(conditions: tuple[str, ...], held: bool) -> None:
    text = '# CONFIG_OFF is not set\nCONFIG_SMP=y\nCONFIG_MODULE=m\nCONFIG_EMPTY=""\nCONFIG_NO=n\nCONFIG_HEX=0x1000\n'
    assert applies(symbols_in(text))(wanted(*conditions)) is held


def test_without_a_configuration_only_what_always_holds_does_and_the_rest_is_told() -> None:
    intent = Intent("linesmith.toml", (wanted(), wanted("CONFIG_SMP", "!CONFIG_NUMA")))
    assert [applies(None)(one) for one in intent.types] == [True, False]
    (said,) = undecided(intent, None)
    assert said == (
        "linesmith.toml:3: the entry of inode for CONFIG_SMP is set and CONFIG_NUMA is not set was not checked,"
        " because the configuration of the build is not known; give --kconfig"
    )
    assert undecided(intent, frozenset()) == ()


# What is written is read as it was

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
