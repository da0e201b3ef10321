# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports of a lint as tests of its forms need them, and strategies for what input can bring into them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from linesmith.analyzer.model import Accepted, LintReport, Severity, Violation

# What has a meaning somewhere: on a terminal, in a workflow command, in Markdown, HTML, a URI or SARIF.
SIGNS = "`|<>&\"'\\[](){}*_~#@!:/%,;=\n\r\t\x1b\x07\x00\u202e\u2028$+-. "
HOSTILE = st.text(st.sampled_from(f"{SIGNS}ab1"), min_size=1, max_size=30)


def violation(**fields: Any) -> Violation:
    """A warning about ``struct a`` with the fields given."""
    usual = {
        "rule": "alignment-lost",
        "severity": Severity.WARNING,
        "type": "struct a",
        "message": "was aligned to 64 bytes and is no longer",
        "file": "include/a.h",
        "line": 7,
    }
    return Violation(**{**usual, **fields})


def report(*violations: Violation, **fields: Any) -> LintReport:
    """A report of these violations between two builds."""
    usual = {"base": "old", "compared": 12, "changed": 3, "watched": 2, "rules": ("alignment-lost",)}
    return LintReport(head="new", violations=violations, **{**usual, **fields})


hostile_violations = st.builds(
    violation,
    severity=st.sampled_from(Severity),
    type=HOSTILE,
    member=st.just("") | HOSTILE,
    subject=st.just("") | HOSTILE,
    message=HOSTILE,
    advice=st.just("") | HOSTILE,
    file=st.none() | HOSTILE,
    line=st.none() | st.integers(1, 1 << 31),
)
hostile_reports = st.builds(
    lambda found, accepted, remarks: report(
        *found, accepted=tuple(Accepted(*one) for one in accepted), remarks=tuple(remarks)
    ),
    st.lists(hostile_violations, max_size=4),
    st.lists(st.tuples(hostile_violations, HOSTILE, HOSTILE), max_size=2),
    st.lists(HOSTILE, max_size=2),
)
