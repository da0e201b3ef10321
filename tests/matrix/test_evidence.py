# SPDX-License-Identifier: GPL-2.0-or-later
"""The matrix in a commit message: a table of 75 columns, and what is not as wished."""

from __future__ import annotations

from dataclasses import replace

from linesmith.analyzer.model import CompiledRecord, CompiledSize, CompiledUser, ConfigurationCheck, Residual
from linesmith.patches.matrix import paragraphs, unchecked

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


def test_where_nothing_grows_a_table_and_a_sentence_are_enough() -> None:
    assert paragraphs((MOVED,), "struct s") == (
        "struct s as compiled before->after: bytes, lines of 64 bytes and starts in\n"
        "which hot and lock share 64 bytes:\n"
        "\n"
        "           bytes  lines  starts\n"
        "  .config  80     2      7/8->3/8\n"
        "\n"
        "What embeds struct s keeps its size and its objects per slab under all of\n"
        "them: big."
    )


def test_what_grows_meets_more_often_or_cannot_be_had_is_told() -> None:
    assert paragraphs((MOVED, GROWN, ABSENT), "struct s") == (
        "struct s as compiled before->after: bytes, lines of 64 bytes, objects/pages\n"
        "of a slab and starts in which hot and lock share 64 bytes:\n"
        "\n"
        "                   bytes     lines  slab        starts\n"
        "  .config          80        2                  7/8->3/8\n"
        "  arm64 defconfig  160->192  3      51/2->42/2  6/8->0/1\n"
        "\n"
        "Others that change with it:\n"
        "\n"
        "       bytes     slab\n"
        "  big  600->640  27/4->25/4  arm64 defconfig\n"
        "\n"
        "More starts than before have hot and tail on 64 bytes under arm64 defconfig\n"
        "(0/8->1/1).\n"
        "\n"
        "Could not be checked:\n"
        "\n"
        "  s390 defconfig: s390x-linux-gnu-gcc is not installed; install\n"
        "      gcc-s390x-linux-gnu"
    )


def test_lines_of_another_size_are_named_with_the_configurations_that_have_them() -> None:
    size = CompiledSize(600, 8, 5, 0, 0)
    power = ConfigurationCheck("powerpc defconfig", records=(CompiledRecord("s", size, size),), line_bytes=128)
    assert paragraphs((replace(MOVED, residuals=()), power), "struct s").startswith(
        "struct s as compiled before->after: bytes, lines of 64 bytes (128 under\npowerpc defconfig):\n"
    )
    assert paragraphs((power,), "struct s").startswith(
        "struct s as compiled before->after: bytes, lines of 128 bytes:\n"
    )


def test_users_are_counted_and_what_is_new_is_listed_once_with_its_configurations() -> None:
    sound, failing = CompiledUser("fs/a.c"), CompiledUser("fs/b.c", failed="fs/b.c:4: static assertion failed")
    warning = CompiledUser("fs/c.c", ("fs/c.c:9: unused variable 'x'",))
    checks = (
        ConfigurationCheck(".config", users=(sound, failing)),
        ConfigurationCheck("allnoconfig", users=(failing, warning)),
    )
    assert paragraphs(checks, "struct s") == (
        "Objects that include the change, compiled before and after: 2 under .config\n"
        "and allnoconfig. New with it:\n"
        "\n"
        "  fs/b.c fails: fs/b.c:4: static assertion failed (.config and allnoconfig)\n"
        "  fs/c.c:9: unused variable 'x' (allnoconfig)"
    )
    assert paragraphs((ConfigurationCheck(".config", users=(sound,)),), "struct s") == (
        "Objects that include the change, compiled before and after: 1 under\n"
        ".config. All compile, without a new warning."
    )


def test_what_was_left_out_is_told_once_with_its_configurations() -> None:
    checks = (
        ConfigurationCheck(".config", left_out=("not in this configuration: dax_device",)),
        ConfigurationCheck("allnoconfig", left_out=("not in this configuration: dax_device",)),
    )
    assert paragraphs(checks, "struct s") == (
        "Left out:\n\n  not in this configuration: dax_device (.config and allnoconfig)"
    )


def test_no_line_is_longer_than_a_message_allows() -> None:
    long = CompiledRecord("x" * 40, CompiledSize(10000, 8, 157, 3, 8), CompiledSize(10064, 8, 158, 3, 8), holder=True)
    checks = (ConfigurationCheck(".config with lockdep", records=(MOVED.records[0], long)),)
    assert max(map(len, paragraphs(checks, "struct s").splitlines())) <= 75


def test_without_checks_there_is_nothing_to_say() -> None:
    assert paragraphs((), "struct s") == ""
    assert unchecked((MOVED, ABSENT)) == "other configurations and architectures"
    assert unchecked((MOVED, GROWN)) == "configurations and architectures other than those"
