# SPDX-License-Identifier: GPL-2.0-or-later
"""Before and behind the rules: which of them are on, which records somebody cared for, and how files are named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from c_source import compiled
from linesmith_command import linesmith
from violations_by_hand import report, violation

from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.errors import RuleUnknown
from linesmith.analyzer.lint import tuned
from linesmith.analyzer.lint.places import located
from linesmith.analyzer.lint.rule_choice import chosen_rules
from linesmith.analyzer.model import LintChoice, Severity
from linesmith.analyzer.rules import Rule

RULES = tuple(
    Rule(name, "", Severity.NOTE, lambda _: (), default=name != "group-docs")
    for name in ("lock-moved", "group-left", "group-docs")
)


def chosen(*choices: str) -> str:
    """The rules that are on where each choice selects what is in front of its ``|`` and ignores the rest."""
    every = [LintChoice(*(tuple(part.split()) for part in one.split("|"))) for one in choices]
    return " ".join(one.name for one in chosen_rules(every, RULES))


@pytest.mark.parametrize(
    ("choices", "on"),
    [
        ((), "lock-moved group-left"),
        (("group-docs |",), "lock-moved group-left group-docs"),
        (("| lock-moved",), "group-left"),
        (("| group-*",), "lock-moved"),
        (("all | lock-moved",), "group-left group-docs"),
        (("lock-moved | all",), "lock-moved"),
        (("group-left | group-*",), "lock-moved group-left"),  # a name wins over a pattern
        (("all | all",), ""),  # ignore wins where both say the same
        (("| lock-moved", "lock-moved |"), "lock-moved group-left"),  # the last choice has the last word
    ],
)
def test_rules_are_turned_on_and_off_by_names_and_patterns(choices: tuple[str, ...], on: str) -> None:
    assert chosen(*choices) == on


@pytest.mark.parametrize(("choice", "name"), [("| lock-mooved", "lock-mooved"), ("x* |", "x*")])
def test_a_name_or_a_pattern_of_no_rule_is_refused(choice: str, name: str) -> None:
    with pytest.raises(RuleUnknown, match=re.escape(f"no rule is called '{name}'")):
        chosen(choice)


def test_a_rule_is_explained_by_its_page_and_without_one_all_are_listed() -> None:
    listed = linesmith("explain").stdout
    assert re.search(r"^alignment-lost .* a record or member is no longer aligned to cache lines", listed, re.MULTILINE)
    page = linesmith("explain", "alignment-lost").stdout
    assert page.startswith("alignment-lost\n\n  A record, or one of its members, asked for an alignment")
    assert "\nWhat to do\n\n  Keep the attribute." in page


@pytest.mark.parametrize(
    ("word", "step"),
    [
        ("alignmentlost", "did you mean alignment-lost?"),
        ("isolaton-broken", "did you mean isolation-broken?"),
        ("xyzzy", "`linesmith explain` lists the rules"),
    ],
)
def test_a_rule_nobody_knows_is_told_with_the_one_that_is_near(word: str, step: str) -> None:
    done = linesmith("explain", word)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"linesmith: no rule is called '{word}'; {step}\n"


LINE = "__attribute__((aligned(64)))"
MARKS = "char __cacheline_group_begin__rx[0]; int a; char __cacheline_group_end__rx[0];"
PADDING = f"struct cacheline_padding {{ char x[0]; }} {LINE};"


@pytest.mark.parametrize(
    ("source", "mark"),
    [
        ("struct s { int a; } s;", ""),
        (f"struct s {{ int a; int b {LINE}; }} s;", "aligns b to 64 bytes"),
        (f"struct s {{ struct {{ int a; int b {LINE}; }}; }} s;", "aligns b to 64 bytes"),
        (f"struct s {{ int a; }} {LINE}; struct s s;", "is aligned to 64 bytes"),
        (f"struct in {{ int a; }} {LINE}; struct s {{ struct in in; int b; }} s;", ""),  # none of its own
        ("struct s { int a __attribute__((aligned(16))); } s;", ""),
        (f"struct s {{ {MARKS} }} s;", "marks the group rx"),
        (f"{PADDING} struct s {{ int a; struct cacheline_padding _p; int b; }} s;", "has the padding _p"),
        ("struct s { long a, b; char pad[48]; long c; } s;", "pads a line with pad"),
        ("struct s { long a, b; long _pad0[14]; long c; } s;", "pads a line with _pad0"),
        ("struct s { long a, b; unsigned char tail_padding_1[64]; long c; } s;", "pads a line with tail_padding_1"),
        ("struct s { long a; char pad[8]; long c; } s;", ""),  # reserved bytes
        ("struct s { long a, b; char pad[48]; } s;", ""),  # the end of a record
        ("struct s { long a, b; char buf[48]; int c; } s;", ""),
        # Types of the kernel count in a kernel and in no program.
        (
            "struct task_struct { int a; } t; struct dentry { int a; } s;",
            "keeps what lookups by RCU touch together (include/linux/dcache.h, 18a5daf0e497)",
        ),
        ("struct dentry { int a; } s;", ""),
    ],
)
def test_what_shows_that_somebody_cared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, mark: str
) -> None:
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "cache"))
    layouts = read_layouts(compiled(tmp_path, source)).layouts
    assert tuned(layouts.variants("dentry" if "dentry" in source else "s")[0], layouts) == mark


@pytest.mark.parametrize(
    ("file", "named"),
    [
        ("include/a.h", "include/a.h"),
        ("./include/a.h", "include/a.h"),
        ("drivers/../include/a.h", "include/a.h"),
        ("/home/somebody/linux/include/a.h", "include/a.h"),
        ("/usr/include/stdio.h", "/usr/include/stdio.h"),
        ("../secret.h", "../secret.h"),
        ("a\0b", "a\0b"),
        (None, None),
    ],
)
def test_a_file_is_named_as_the_tree_has_it_wherever_the_build_was_made(
    tmp_path: Path, file: str | None, named: str | None
) -> None:
    tree = tmp_path / "tree"
    (tree / "include").mkdir(parents=True)
    for name in ("include/a.h", "a.h", "../secret.h"):
        (tree / name).touch()
    found = located(report(violation(file=file), violation(file="a.h")), tree).violations
    assert [one.file for one in found if one.file != "a.h"] == [named]
    assert [one.file for one in found] == sorted([named, "a.h"], key=lambda one: one or "")
