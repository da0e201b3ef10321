# SPDX-License-Identifier: GPL-2.0-or-later
"""The lines of ``perf script --header`` that tell where and how the samples were taken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from linesmith.analyzer.model import Sampling

_FIELD = re.compile(r"#\s{0,8}([a-z][a-z0-9 ]{1,30}?)\s*:\s*(\S.{0,2000})$")
_NODE = re.compile(r"#\s{0,8}node(\d{1,4}) cpu list\s*:\s*([\d,-]{1,4000})\s*$", re.ASCII)
_MOST_CPUS = 1 << 16
_LONGEST = 500

# The rule above and below the header of a perf.data, and what it says at any rate.
_RULE = re.compile(r"^# ========$", re.MULTILINE)
_CMDLINE = re.compile(r"^# cmdline : ", re.MULTILINE)


def is_header(text: str) -> bool:
    """Whether ``text`` is nothing but the header of a perf.data, as ``perf script --header`` prints it."""
    remarks_only = all(line.startswith("#") for line in text.splitlines() if line.strip())
    return remarks_only and bool(_RULE.search(text)) and bool(_CMDLINE.search(text))


@dataclass(slots=True)
class ScriptHeader:
    """What the header says, as far as it was given; ``nodes`` by CPU."""

    fields: dict[str, str] = field(default_factory=dict)
    nodes: dict[int, int] = field(default_factory=dict)

    def hear(self, line: str) -> None:
        """Take in one line that begins with ``#``; the first of each kind counts."""
        if (node := _NODE.match(line)) is not None:
            self.nodes |= {cpu: int(node[1]) for cpu in _cpus(node[2])}
        found = _FIELD.match(line)
        if found and found[1] in _KEPT:
            self.fields.setdefault(found[1], " ".join(found[2].split())[:_LONGEST])

    @property
    def sampling(self) -> Sampling:
        """The circumstances, without the outcomes of the samples."""
        cpus = self.fields.get("nrcpus avail", "")
        return Sampling(
            release=self.fields.get("os release"),
            machine=self.fields.get("arch"),
            cpus=int(cpus) if cpus.isdecimal() and len(cpus) < 10 else None,
            command=self.fields.get("cmdline", ""),
        )


def _cpus(ranges: str) -> Iterator[int]:
    """The CPUs of ``0-3,8``; ranges of more than any machine has are none."""
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal() and int(last or first) < _MOST_CPUS:
            yield from range(int(first), int(last or first) + 1)


_KEPT = frozenset(("os release", "arch", "nrcpus avail", "cmdline"))
