# SPDX-License-Identifier: GPL-2.0-or-later
"""A message gets its benchmark when there is one."""

from __future__ import annotations

from linesmith.patches.message import with_evidence

_UNMEASURED = """\
session: separate root from guard in struct session_index

Move guard behind name. The size stays 128 bytes.

Not checked: other builds, and code that relies on the order of members
(initialisers by position, ranges from one member to another, casts). No
benchmark has been run.
"""


def test_what_was_measured_stands_before_what_was_not_checked() -> None:
    assert with_evidence(_UNMEASURED, "Lookups per second went up.\n\n  100 ± 1   +20.0 %   120 ± 2\n") == (
        "session: separate root from guard in struct session_index\n"
        "\n"
        "Move guard behind name. The size stays 128 bytes.\n"
        "\n"
        "Lookups per second went up.\n"
        "\n"
        "  100 ± 1   +20.0 %   120 ± 2\n"
        "\n"
        "Not checked: other builds, and code that relies on the order of members\n"
        "(initialisers by position, ranges from one member to another, casts).\n"
    )
