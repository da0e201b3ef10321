# SPDX-License-Identifier: GPL-2.0-or-later
"""Diffs: the text, and that git and patch make the new file of the old one."""

from __future__ import annotations

import random
import subprocess
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from linesmith.patches.series.mails import changed_lines, diffstat, unified_diff

NUMBERS = [b"%d\n" % number for number in range(1, 13)]
APPLIERS = (("git", "apply", "../p"), ("patch", "-p1", "--binary", "-s", "-i", "../p"))


def test_one_moved_line_is_one_hunk_with_its_function() -> None:
    old = b"struct s {\n" + b"".join(NUMBERS) + b"};\n"
    new = b"struct s {\n" + b"".join([*NUMBERS[:4], *NUMBERS[5:8], NUMBERS[4], *NUMBERS[8:]]) + b"};\n"
    assert unified_diff(old, new, "include/linux/s.h") == (
        b"diff --git a/include/linux/s.h b/include/linux/s.h\n--- a/include/linux/s.h\n+++ b/include/linux/s.h\n"
        b"@@ -3,10 +3,10 @@ struct s {\n 2\n 3\n 4\n-5\n 6\n 7\n 8\n+5\n 9\n 10\n 11\n"
    )


def test_a_missing_end_of_line_is_told() -> None:
    diff = unified_diff(b"a\nb\nc", b"b\na\nc", "s.h")
    assert diff.endswith(b"\n c\n\\ No newline at end of file\n")


def test_the_statistics_are_those_of_git() -> None:
    diff = unified_diff(b"a\n++ b\n-- c\n", b"++ b\n-- c\na\nd\n", "dir/s.h")
    assert diffstat(diff) == " dir/s.h | 3 ++-\n 1 file changed, 2 insertions(+), 1 deletion(-)\n"


def test_the_lines_that_differ_are_counted_from_nought() -> None:
    old, new = b"a\nb\nc\nd\n", b"a\nB\nc\nx\nd\n"
    assert list(changed_lines(old, new)) == [(range(1, 2), range(1, 2)), (range(3, 3), range(3, 4))]


ANY = (b"a\n", b"b\n", b"\n", b"  c\r\n", b"int f(void)\n", b"-- x\n", b"++ y\n")
LINES = st.lists(st.sampled_from(ANY), max_size=14)


@settings(max_examples=12)
@given(LINES, LINES, st.booleans(), st.randoms(use_true_random=False))
def test_git_and_patch_make_the_new_file(
    start: list[bytes], extra: list[bytes], cut: bool, chance: random.Random
) -> None:
    lines = [*start, *extra[:3], b"last\n"]
    changed = [line for line in lines if chance.random() > 0.2]
    for line in extra[:3]:
        changed.insert(chance.randrange(len(changed) + 1), line)
    old, new = b"".join(lines)[: -1 if cut else None], b"".join(changed)
    if new and old != new:
        diff = unified_diff(old, new, "d/s.h")
        assert [applied(argv, old, diff) for argv in APPLIERS] == [new, new]


def applied(argv: tuple[str, ...], old: bytes, diff: bytes) -> bytes:
    with tempfile.TemporaryDirectory() as made:
        tree = Path(made) / "tree"
        (tree / "d").mkdir(parents=True)
        (tree / "d" / "s.h").write_bytes(old)
        (Path(made) / "p").write_bytes(diff)
        subprocess.run(argv, cwd=tree, check=True, capture_output=True, timeout=300)
        return (tree / "d" / "s.h").read_bytes()
