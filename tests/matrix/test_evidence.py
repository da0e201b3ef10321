# SPDX-License-Identifier: GPL-2.0-or-later
"""The matrix in a commit message: a table of 75 columns, and what is not as wished."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from text_cases import TextCase, text_cases

from linesmith.analyzer.model import CompiledRecord, CompiledSize, CompiledUser, ConfigurationCheck, Residual
from linesmith.patches.matrix.evidence import paragraphs, summary, unchecked

MOVED = ConfigurationCheck(
    ".config",
    "gcc 12.2.0",
    (
        CompiledRecord("s", CompiledSize(80, 8, 2, 0, 0), CompiledSize(80, 8, 2, 0, 0)),
        CompiledRecord("big", CompiledSize(600, 8, 10, 27, 4), CompiledSize(600, 8, 10, 27, 4), holder=True),
    ),
    (Residual("hot", "lock", 64, 7 / 8, 3 / 8), Residual("hot", "lock", 128, 15 / 16, 11 / 16)),
)
GROWN = ConfigurationCheck(
    "arm64 defconfig",
    "aarch64-linux-gnu-gcc 12.2.0",
    (
        CompiledRecord("s", CompiledSize(160, 8, 3, 51, 2), CompiledSize(192, 64, 3, 42, 2), cache="s"),
        CompiledRecord("big", CompiledSize(600, 8, 10, 27, 4), CompiledSize(640, 64, 10, 25, 4), holder=True),
    ),
    (Residual("hot", "lock", 64, 0.75, 0.0), Residual("hot", "tail", 64, 0.0, 1.0)),
)
ABSENT = ConfigurationCheck(
    "s390 defconfig", failed="s390x-linux-gnu-gcc is not installed; install gcc-s390x-linux-gnu"
)


SOUND, FAILING = CompiledUser("fs/a.c"), CompiledUser("fs/b.c", failed="fs/b.c:4: static assertion failed")
WARNING = CompiledUser("fs/c.c", ("fs/c.c:9: unused variable 'x'",))
LEFT_OUT = ("not in this configuration: dax_device",)
CHECKS = {
    "where nothing grows a table and a sentence are enough": (MOVED,),
    "what grows, meets more often or cannot be had is told": (MOVED, GROWN, ABSENT),
    "what is new for users is listed once with its configurations": (
        ConfigurationCheck(".config", users=(SOUND, FAILING)),
        ConfigurationCheck("allnoconfig", users=(FAILING, WARNING)),
    ),
    "what was left out is told once with its configurations": (
        ConfigurationCheck(".config", users=(SOUND,), left_out=LEFT_OUT),
        ConfigurationCheck("allnoconfig", users=(SOUND,), left_out=LEFT_OUT),
    ),
}


@text_cases(Path(__file__).with_name("evidence.txt"))
def test_checks_in_a_message(case: TextCase) -> None:
    checks = CHECKS[case.title]
    assert [summary(checks), "---", *paragraphs(checks, "struct s").splitlines()] == list(case.lines)


def test_lines_of_another_size_are_named_with_the_configurations_that_have_them() -> None:
    size = CompiledSize(600, 8, 5, 0, 0)
    power = ConfigurationCheck("powerpc defconfig", records=(CompiledRecord("s", size, size),), line_bytes=128)
    assert paragraphs((replace(MOVED, residuals=()), power), "struct s").startswith(
        "struct s as compiled before->after: bytes, lines of 64 bytes (128 under\npowerpc defconfig):\n"
    )
    assert paragraphs((power,), "struct s").startswith(
        "struct s as compiled before->after: bytes, lines of 128 bytes:\n"
    )


def test_no_line_is_longer_than_a_message_allows() -> None:
    long = CompiledRecord("x" * 40, CompiledSize(10000, 8, 157, 3, 8), CompiledSize(10064, 8, 158, 3, 8), holder=True)
    checks = (ConfigurationCheck(".config with lockdep", records=(MOVED.records[0], long)),)
    assert max(map(len, paragraphs(checks, "struct s").splitlines())) <= 75


def test_without_checks_there_is_nothing_to_say() -> None:
    assert paragraphs((), "struct s") == ""
    assert unchecked((MOVED, ABSENT)) == "other configurations and architectures"
    assert unchecked((MOVED, GROWN)) == "configurations and architectures other than those"
