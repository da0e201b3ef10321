# SPDX-License-Identifier: GPL-2.0-or-later
"""An example for every source of the package, with the number of its samples; profiles with any values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from perf_data.hand_made import CYCLES, GUESTS, LOST_RECORDS, LOST_SAMPLES, recording, with_more
from perf_data.hardware import INTEL
from perf_data.recording import write
from profiles.c2c_text import Generation, LineSpec, Options, ReportSpec, RowSpec, render
from profiles.conformance import Example

from linesmith.analyzer.model import Access, CacheLine, CpuCounts, Profile
from linesmith.plugins.profiles.formats import encode

_LOAD = "          800842 |OP LOAD|LVL L3 hit|SNP HitM|TLB L1 or L2 hit|LCK No|BLK  N/A"
_STORE = "         5080144 |OP STORE|LVL L1 hit|SNP N/A|TLB N/A|LCK No|BLK  N/A    "
_SAMPLE = "worker 4711/{tid} [00{cpu}] 12.50000{at}: 1 cpu/mem/P: {data:x} {source} 300 ffffffff81200010 f+0x1 ([k])\n"


def c2c_report(path: Path) -> Example:
    row = RowSpec(8, (1, 2, 3, 4, 5), 0xFFFFFFFF81000000, "down_write", "[kernel.kallsyms]", "down_write+28")
    lines = tuple(LineSpec(0xFFFF888100000000 + 64 * at, (row, replace(row, offset=16))) for at in range(4))
    path.write_text("".join(render(ReportSpec(lines, Options(one))) for one in Generation))
    return Example(path)


def perf_script(path: Path) -> Example:
    rows = (
        _SAMPLE.format(tid=4712 + at % 2, cpu=at % 2, at=at, data=0xFFFF888100000040 + at % 2 * 8, source=source)
        for at, source in enumerate((_LOAD, _STORE) * 4)
    )
    path.write_text(
        "# cmdline : /usr/bin/perf c2c record -a\n" + "".join(rows) + "x 1/1 [000] PERF_RECORD_LOST lost 3\n"
    )
    return Example(path, 8 + 3)


def perf_data(path: Path) -> Example:
    what, _ = recording(INTEL)
    write(path, with_more(what))
    return Example(path, 2000 + CYCLES + GUESTS + LOST_RECORDS + LOST_SAMPLES)


def linesmith_profile(path: Path) -> Example:
    """With a name in it that has no business in a terminal, as the text of JSON may spell it."""
    access = Access(8, "f\x1b[31m\u202e", hitm_local=3, by_cpu=(CpuCounts(0, None, 3, 0, 3),))
    path.write_bytes(encode(Profile("", "", "hitm", (CacheLine(0, 64, (access,), hitm_local=3),))))
    return Example(path)


EXAMPLES: dict[str, Callable[[Path], Example]] = {
    "c2c-report": c2c_report,
    "linesmith-profile": linesmith_profile,
    "perf-data": perf_data,
    "perf-script": perf_script,
}


# Control characters and odd blanks do not come back: readers leave nothing in names that a terminal would obey.
_TEXT = st.text(st.characters(exclude_categories=("C", "Z")), max_size=20)
_BY_TYPE = {int: st.integers(0, (1 << 63) - 1), str: _TEXT, bool: st.booleans(), float: st.floats(0, 1)}
# Fields that not every value of their type does for.
_BY_NAME = {
    "CacheLine.bytes": st.sampled_from((64, 128, 256)),
    "Profile.display": st.sampled_from(("hitm", "peer")),
    "ObjectArea.address": st.integers(0, 1 << 62),
    "ObjectArea.size": st.integers(1, 1 << 20),
    "ObjectArea.stride": st.integers(1, 1 << 20),
    "ObjectArea.count": st.integers(1, 1 << 10),
}


@cache
def _values(hint: Any) -> st.SearchStrategy[Any]:
    """Any values of a field's type."""
    if hint in _BY_TYPE:
        return _BY_TYPE[hint]
    if isinstance(hint, type) and is_dataclass(hint):
        hints = get_type_hints(hint)
        return st.builds(
            hint, **{name: _BY_NAME.get(f"{hint.__name__}.{name}", _values(hints[name])) for name in hints}
        )
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(hint)
    if get_origin(hint) is UnionType:
        return st.one_of(*(_values(one) for one in get_args(hint)))
    if hint is NoneType:
        return st.none()
    assert get_origin(hint) is tuple, hint
    of, *others = get_args(hint)
    if others == [...]:
        return st.lists(_values(of), max_size=2).map(tuple)
    return st.tuples(*map(_values, get_args(hint)))


PROFILES: st.SearchStrategy[Profile] = _values(Profile)
