# SPDX-License-Identifier: GPL-2.0-or-later
"""A message gets its benchmark when there is one."""

from __future__ import annotations

from linesmith.patches.message import with_evidence

_UNMEASURED = """\
session: separate root from guard in struct session_index

The changed file was compiled with gcc 12.2.0 and the tree's flags.

Not checked: other builds, and code that relies on the order of members
(initialisers by position, ranges from one member to another, casts). No
benchmark has been run.
"""


def test_what_was_measured_stands_before_what_was_not_checked() -> None:
    assert with_evidence(_UNMEASURED, "Lookups per second went up.\n\n  100 ± 1   +20.0 %   120 ± 2\n") == (
        "session: separate root from guard in struct session_index\n"
        "\n"
        "The changed file was compiled with gcc 12.2.0 and the tree's flags.\n"
        "\n"
        "Lookups per second went up.\n"
        "\n"
        "  100 ± 1   +20.0 %   120 ± 2\n"
        "\n"
        "Not checked: other builds, and code that relies on the order of members\n"
        "(initialisers by position, ranges from one member to another, casts).\n"
    )


def test_what_is_measured_later_stands_in_the_place_of_what_was_measured_before() -> None:
    first = with_evidence(_UNMEASURED, "It went up.\n\n  100   +20.0 %   120\n")
    assert with_evidence(first, "It went down.\n") == with_evidence(_UNMEASURED, "It went down.\n")


def test_trailers_of_a_message_stay_as_they_are() -> None:
    trailers = "Signed-off-by: A <a@b.c>\nReviewed-by: D <d@e.f>\n"
    assert with_evidence(f"{_UNMEASURED}\n{trailers}", "It went up.\n").endswith(f"casts).\n\n{trailers}")


def test_a_message_that_somebody_else_wrote_is_left_alone() -> None:
    mail = "From 0123 Mon Sep 17 00:00:00 2001\nFrom: A <a@b.c>\nSubject: [PATCH] tail moves\n\nIt is hot.\n"
    assert with_evidence(mail, "It went up.\n") == mail
