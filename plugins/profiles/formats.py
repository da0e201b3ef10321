# SPDX-License-Identifier: GPL-2.0-or-later
"""The formats that are read, told by how a file begins; the reader of a format is loaded when it is needed."""

from __future__ import annotations

import re
from pathlib import Path

from linesmith.analyzer.base.errors import ProfileError
from linesmith.analyzer.model import Profile
from linesmith.plugins.profiles.columns import TextCursor, tokens
from linesmith.plugins.profiles.draft import ReportDraft, drafts
from linesmith.plugins.profiles.draft_to_profile import profile_of
from linesmith.plugins.profiles.scan import Scanner, bare, unmail
from linesmith.plugins.text import head_text, read_text

COMPACT_MAGIC = b"LSMPROF"
# A file has a header of 104 bytes, what comes out of a pipe one of 16.
_PERF_MAGIC = b"PERFILE2\x68"
_MARK = '"linesmith-profile"'
_TITLES = re.compile(r"Shared\s+(?:Data\s+)?Cache\s*Line|Trace\s+Event\s+Information", re.IGNORECASE)
_SHARES = re.compile(r"\d\.\d\d%\s{1,40}\d{1,3}\.\d\d%")
_TABLE_ROW = re.compile(r"\d\s{1,20}0x[0-9a-f]{1,16}\s[\dN/A\s-]{0,60}\.\d\d%")
_SOURCE = re.compile(r"\|OP (?:LOAD|STORE|PFETCH|EXEC|N/A|No)\|LVL ")
# The rule above and below the header of a perf.data, and what it says at any rate.
_RULE = re.compile(r"^# ========$", re.MULTILINE)
_CMDLINE = re.compile(r"^# cmdline : ", re.MULTILINE)
# A line that any event could have.
PLAIN_SAMPLE = re.compile(
    r"^ {0,20}\S.{0,80}? +-?\d{1,10}(?:/-?\d{1,10})? +(?:\[\d{3,6}\] +)?(?:[KUHGg]{1,2} +)?\d{1,12}\.\d{6,9}: +"
    r"(?:\d{1,20} +)?(?P<event>[^\s:]\S{0,200}): ",
    re.MULTILINE | re.ASCII,
)


class C2cReport:
    """The text of ``perf c2c report``; see ``docs/profiles.md`` for the forms."""

    name = "c2c-report"

    def recognises(self, head: bytes) -> bool:
        """Whether ``head`` has a title of the report, or rows of shares or of the shared-lines table; JSON is none."""
        text = head_text(head)
        if text.lstrip().startswith("{"):
            return False
        plain = "\n".join(line.text for line in unmail(text))
        return any(pattern.search(plain) for pattern in (_TITLES, _SHARES, _TABLE_ROW))

    def read(self, path: Path, source: str) -> tuple[Profile, ...]:
        """Every report in the file; raises ``ProfileError`` when there is no shared line in it."""
        text = read_text(path, source)
        found = drafts(Scanner(TextCursor(tokens(unmail(text)))).pieces())
        holding = [draft for draft in found if draft.holds_lines]
        if not holding:
            raise ProfileError(_nothing_in(text, source, found))
        return tuple(profile_of(draft, source) for draft in holding)


class PerfScript:
    """The text of ``perf script`` with data sources; see ``docs/profiles.md`` for the fields."""

    name = "perf-script"

    def recognises(self, head: bytes) -> bool:
        """Whether ``head`` has a data source as perf words it, two samples of any event, or nothing but a header."""
        plain = "\n".join(map(bare, head_text(head).splitlines()))
        if _SOURCE.search(plain) or len(PLAIN_SAMPLE.findall(plain)) > 1:
            return True
        remarks_only = all(line.startswith("#") for line in plain.splitlines() if line.strip())
        return remarks_only and bool(_RULE.search(plain)) and bool(_CMDLINE.search(plain))

    def read(self, path: Path, source: str) -> tuple[Profile, ...]:
        """The one profile of all samples in the file; raises ``ProfileError`` when no line of them is shared."""
        from linesmith.plugins.profiles.script import read_script

        return read_script(path, source)


class PerfData:
    """The samples of a perf.data file; see ``docs/profiles.md``."""

    name = "perf-data"

    def recognises(self, head: bytes) -> bool:
        """Whether ``head`` begins as a perf.data file does."""
        return head.startswith(_PERF_MAGIC)

    def read(self, path: Path, source: str) -> tuple[Profile, ...]:
        """The one profile of the file. Raises ``ProfileError`` when it is damaged or has no shared line."""
        from linesmith.plugins.profiles.perf_data.source import read_perf_data

        try:
            return (read_perf_data(path, source),)
        except OSError as error:
            raise ProfileError(f"cannot read the profile {source}: {error.strerror or error}") from error


class RecordedProfile:
    """What ``linesmith record`` and ``hot --save`` wrote; see ``docs/profiles.md``."""

    name = "linesmith-profile"

    def recognises(self, head: bytes) -> bool:
        """Whether ``head`` begins as one of the two forms does."""
        text = head_text(head)
        return head.startswith(COMPACT_MAGIC) or (text.lstrip().startswith("{") and _MARK in text[:200])

    def read(self, path: Path, source: str) -> tuple[Profile, ...]:
        """The one profile of the file; raises ``ProfileError`` when it is damaged or of another version."""
        from linesmith.plugins.profiles.recorded import read_recorded

        return read_recorded(path, source)


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
