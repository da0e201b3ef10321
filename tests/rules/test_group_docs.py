# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of documentation against what a change made of their records."""

from __future__ import annotations

from pathlib import Path

import pytest
from linesmith_command import linesmith
from lint_commits import Commits, repository

from linesmith.analyzer.lint.tuned import group_docs

FILE = "Documentation/networking/net_cachelines/s.rst"
SOURCES = Path(__file__).with_name("sources")
LOOSE, RULED, SOURCE = ((SOURCES / name).read_text() for name in ("loose.rst", "ruled.rst", "s.h"))


@pytest.mark.parametrize("table", [LOOSE, RULED])
def test_both_forms_of_tables_are_read(table: str) -> None:
    doc = group_docs({FILE: table})["s"]
    assert [(row.name, row.tx, row.rx) for row in doc.members] == [
        ("sent", "read_write", ""),
        ("seen", "", "read_mostly"),
        ("name", "", ""),
    ]
    assert "sent" in table.splitlines()[doc.members[0].line - 1]


@pytest.mark.parametrize(
    "text", ["", "s enum fast path usage breakdown\n", LOOSE.partition("Type")[0], "=" * 5000, "\0"]
)
def test_other_texts_have_no_table(text: str) -> None:
    assert group_docs({FILE: text}) == {}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Commits, str]:
    """A repository, and the commit of a struct with its table."""
    found = repository(tmp_path_factory.mktemp("docs") / "tree")
    return found, found.commit({"s.h": SOURCE, FILE: LOOSE})


def told(made: tuple[Commits, str], after: str, table: str = LOOSE, before: str = LOOSE) -> list[str]:
    """The lines of the rule for a change of the struct, and perhaps of its table."""
    commits, old = made
    old = old if before is LOOSE else commits.commit({"s.h": SOURCE, FILE: before})
    new = commits.commit({"s.h": after, FILE: table}, old)
    done = linesmith("lint", "--tree", commits.root, "--base-ref", old, "--head-ref", new, "--select", "group-docs")
    assert done.returncode in (0, 1), done.stderr
    return [line.removeprefix(f"{FILE}:") for line in done.stdout.splitlines() if "[group-docs]" in line]


SENT, SEEN, NAME = "\tint sent;\n", "\tint seen;\n", "\tchar name[16];\n"


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (SOURCE.replace(NAME, ""), f"9: WARNING: struct s: name was removed, and {FILE} still has a row for it"),
        (
            SOURCE.replace(NAME, f"{NAME}\tint more;\n"),
            f"5: WARNING: struct s: more is new, and {FILE} has no row for it",
        ),
        (
            SOURCE.replace(SENT, "").replace(SEEN, SEEN + SENT),
            f"7: WARNING: struct s: sent is in the group s_read_rx now, and {FILE} says read_write in tx",
        ),
        (
            SOURCE.replace(SENT, "").replace(NAME, NAME + SENT),
            f"7: WARNING: struct s: sent left the group s_write_tx, and {FILE} says read_write in tx",
        ),
        (
            SOURCE.replace(SEEN, "").replace(NAME, NAME + SEEN),
            f"8: WARNING: struct s: seen left the group s_read_rx, and {FILE} says read_mostly in rx",
        ),
    ],
    ids=["gone", "new", "in another group", "in no group", "behind a row that is still right"],
)
def test_what_became_of_a_member_is_told_at_its_row(made: tuple[Commits, str], after: str, said: str) -> None:
    assert told(made, after) == [f"{said} [group-docs]"]


def test_a_table_that_was_changed_with_the_struct_or_was_wrong_before_is_not_told(made: tuple[Commits, str]) -> None:
    assert told(made, SOURCE.replace(NAME, f"{NAME}\tint more;\n"), LOOSE + "u32                 more\n") == []
    stale = LOOSE.replace("sent           read_write ", "sent           -          ") + "u32   nothing\n"
    assert told(made, SOURCE.replace("name[16]", "name[20]"), stale, stale) == []
    marked = "".join(
        f"\tchar __cacheline_group_{word}__names[0];\n{text}" for word, text in (("begin", NAME), ("end", ""))
    )
    assert told(made, SOURCE.replace(NAME, marked)) == [], "markers need no row"
