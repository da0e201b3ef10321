# SPDX-License-Identifier: GPL-2.0-or-later
"""A line of a report as people post it, with made-up figures, and the reader that tests give it to."""

from __future__ import annotations

from linesmith.analyzer.model import Profile
from linesmith.plugins.profiles.c2c import reports_in

RULE = "  " + "-" * 70
HEAD = f"{RULE}\n      0       40      400       30       20       10  0xffff888100000040\n{RULE}\n"
FIRST = (
    "          75.00%   50.00%  100.00%    0.00%    0.00%                 0x8     0       1  0xffffffff81200010"
    "       300       200       100      900        64  [k] take_ticket   [kernel.kallsyms]  take_ticket+16   0  1\n"
)
SECOND = (
    "          25.00%   50.00%    0.00%  100.00%  100.00%                0x10     0       1  0xffffffff81200020"
    "       310       210       110      800        63  [k] give_ticket   [kernel.kallsyms]  give_ticket+32   0\n"
)
REPORT = HEAD + FIRST + SECOND


def read(text: str) -> tuple[Profile, ...]:
    return reports_in(text, "report.txt")


def read_one(text: str) -> Profile:
    (profile,) = read(text)
    return profile


def remarks(profile: Profile) -> str:
    return "\n".join(remark.text for remark in profile.remarks)
