# SPDX-License-Identifier: GPL-2.0-or-later
"""Before and behind the rules: which of them are on, which records somebody cared for, and how files are named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from c_source import compiled
from linesmith_command import linesmith
from violations_by_hand import report, violation

from linesmith.analyzer.base.errors import RuleUnknown
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.lint.linting import enabled_rules
from linesmith.analyzer.lint.pairs import located
from linesmith.analyzer.lint.rules.catalogue import Rule
from linesmith.analyzer.lint.tuned import tuned
from linesmith.analyzer.model import LintChoice, Severity

RULES = tuple(Rule(name, "", Severity.NOTE, lambda _: ()) for name in ("lock-moved", "group-left"))


def chosen(*choices: str) -> str:
    """The rules that are on where each choice selects what is in front of its ``|`` and ignores the rest."""
    every = [LintChoice(*(tuple(part.split()) for part in one.split("|"))) for one in choices]
    return " ".join(one.name for one in enabled_rules(every, RULES))


@pytest.mark.parametrize(
    ("choices", "on"),
    [
        ((), "lock-moved group-left"),
        (("| lock-moved",), "group-left"),
        (("| group-*",), "lock-moved"),
        (("all | lock-moved",), "group-left"),
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
    with pytest.raises(RuleUnknown, match=re.escape(f"no rule '{name}'")):
        chosen(choice)


def test_a_rule_is_explained_by_its_page_and_without_one_all_are_listed() -> None:
    listed = linesmith("explain").stdout
    assert re.search(r"^alignment-lost .* a record or member is no longer aligned to cache lines", listed, re.MULTILINE)
    page = linesmith("explain", "alignment-lost").stdout
    assert page.split(maxsplit=9)[:9] == [
        "alignment-lost",
        "A",
        "record,",
        "or",
        "one",
        "of",
        "its",
        "members,",
        "asked",
    ]
    assert "What to do Keep the attribute." in " ".join(page.split())


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
    assert done.stderr == f"linesmith: no rule '{word}'; {step}\n"


TUNED = [one.strip().split("\n-> ") for one in Path(__file__).with_name("tuned.txt").read_text().split("\n\n")[1:]]


@pytest.mark.parametrize(("source", "mark"), TUNED)
def test_what_shows_that_somebody_cared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, mark: str
) -> None:
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "cache"))
    layouts = read_layouts(compiled(tmp_path, re.sub(r"\bA\b", "__attribute__((aligned(64)))", source))).layouts
    (layout,) = layouts.variants("dentry" if "dentry" in source else "s")
    assert tuned(layout, layouts) == ("" if mark.startswith("nothing") else mark)


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
