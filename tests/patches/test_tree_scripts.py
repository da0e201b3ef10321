# SPDX-License-Identifier: GPL-2.0-or-later
"""The scripts of a kernel tree that know whom a patch is for and what it should look like."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from patch_cases import write_files

from linesmith.analyzer.model import FileChange, SeriesStep
from linesmith.patches.series.files import complaints
from linesmith.patches.series.mails import PatchFile, recipients

STEP = SeriesStep("a: b\n", (FileChange("a.c", b"int a;\n", b"int b;\n"),))
FILES = (PatchFile("0000-cover-letter.patch", b"Subject: x\n"), PatchFile("0001-b.patch", b"--- a/a.c\n+++ b/a.c\n"))
MAINTAINERS = r"""
open(my $patch, '<', $ARGV[-1]) or die;
exit 1 unless grep { /^\+int b;$/ } <$patch>;
print "Ann Other <ann\@example.org> (maintainer:A (B and C))\n", "Bo <bo\@example.org> (reviewer:A)\n";
print "Ann Other <ann\@example.org> (maintainer:D)\n", "Cy <cy\@example.org> (commit_signer:1/2=50%)\n";
print "a\@lists.example.org (open list:A (B))\n", "all\@lists.example.org (open list)\n", "no line of ours\n";
"""
CHECKPATCH = r"""
open(my $notes, '>', '.notes') or die;
grep { $_ eq '--emacs' } @ARGV or die;
print map { "$ARGV[-1]:$_\n" }
  "3: WARNING:LONG: too long", "7: CHECK:SPACE: x.c:1: blanks", "7: ERROR:MISSING_SIGN_OFF: no";
"""

pytestmark = pytest.mark.skipif(shutil.which("perl") is None, reason="perl is not installed")


def test_maintainers_and_reviewers_are_asked_and_all_others_get_a_copy(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"scripts/get_maintainer.pl": MAINTAINERS})
    found = recipients(tree, (STEP,))
    assert (found.to, found.copies) == (
        ("Ann Other <ann@example.org>", "Bo <bo@example.org>"),
        ("Cy <cy@example.org>", "a@lists.example.org", "all@lists.example.org"),
    )


@pytest.mark.parametrize("files", [{}, {"scripts/get_maintainer.pl": "exit 3"}])
def test_nobody_is_named_where_nobody_is_known(tmp_path: Path, files: dict[str, str]) -> None:
    found = recipients(write_files(tmp_path, files), (STEP,))
    assert (found.to, found.copies) == ((), ())


def test_complaints_name_patch_and_place_and_no_sign_off(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"scripts/checkpatch.pl": CHECKPATCH})
    assert complaints(tree, FILES) == (
        "0001-b.patch:3: WARNING:LONG: too long",
        "0001-b.patch:7: CHECK:SPACE: x.c:1: blanks",
    )
    assert [path.name for path in tree.iterdir()] == ["scripts"]


def test_complaints_name_the_file_and_the_line_that_a_person_has(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"scripts/checkpatch.pl": CHECKPATCH})
    written = b"\n".join(file.content for file in FILES).splitlines()
    ahead = written.index(b"--- a/a.c")
    assert complaints(tree, FILES, "both.patch") == (
        f"both.patch:{ahead + 3}: WARNING:LONG: too long",
        f"both.patch:{ahead + 7}: CHECK:SPACE: x.c:1: blanks",
    )


def test_a_tree_without_the_script_has_no_complaints(tmp_path: Path) -> None:
    assert complaints(tmp_path, FILES) == ()
