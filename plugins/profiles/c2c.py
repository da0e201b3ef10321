# SPDX-License-Identifier: GPL-2.0-or-later
"""The text of ``perf c2c report --stdio``, of every generation of its columns, as people paste it."""

from __future__ import annotations

from pathlib import Path

from linesmith.analyzer.base.errors import ProfileError
from linesmith.analyzer.model import Profile
from linesmith.plugins.profiles.draft import ReportDraft, drafts
from linesmith.plugins.profiles.draft_to_profile import profile_of
from linesmith.plugins.profiles.scan import Scanner
from linesmith.plugins.profiles.tokens import TextCursor, tokens
from linesmith.plugins.profiles.unmail import unmail
from linesmith.plugins.text import read_text


def read_c2c(path: Path, source: str) -> tuple[Profile, ...]:
    """Every report in the file; raises ``ProfileError`` when there is no shared line in it."""
    return reports_in(read_text(path, source), source)


def reports_in(text: str, source: str) -> tuple[Profile, ...]:
    """Every report in ``text``; raises ``ProfileError`` when there is no shared line in it."""
    found = drafts(Scanner(TextCursor(tokens(unmail(text)))).pieces())
    holding = [draft for draft in found if draft.holds_lines]
    if not holding:
        raise ProfileError(_nothing_in(text, source, found))
    return tuple(profile_of(draft, source) for draft in holding)


def _nothing_in(text: str, source: str, found: list[ReportDraft]) -> str:
    unread = [unread for draft in found for unread in draft.unread]
    lines = text.count("\n") + (not text.endswith("\n"))
    if not text.strip():
        return f"{source} is empty; save the output of `perf c2c report --stdio` into it"
    advice = "give the text of `perf c2c report --stdio`"
    if not unread and any(draft.totals for draft in found):
        return f"{source} is a `perf c2c report` that lists no shared cache line{_counted(found)}"
    if unread:
        first = f"line {unread[0].line} begins with shares ({unread[0].text}) but goes on with no offset and no symbol"
        return f"{source} holds no cache line of a `perf c2c report` that can be read: {first}; {advice}"
    return (
        f"{source} holds no cache line of a `perf c2c report`: none of its {lines} lines is a row of shares and an"
        f" offset, or of the shared-lines table; {advice}"
    )


def _counted(found: list[ReportDraft]) -> str:
    """What the summary says about loads that other caches answered, and what to do about it."""
    totals = {total.key: total.count for draft in found for total in draft.totals}
    hitms = sum(totals.get(f"Load {where} HITM", 0) for where in ("Local", "Remote"))
    peers = sum(totals.get(f"Load HIT {where} Peer", 0) for where in ("Local", "Remote"))
    if hitms or peers:
        display = "tot" if hitms else "peer"
        return f" ({hitms} HITM, {peers} peer snoops); give the text of `perf c2c report --stdio -d {display}`"
    return " and counts no HITM and no peer snoop; record where there is contention, or a PMU that tells it"
