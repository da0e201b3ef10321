# SPDX-License-Identifier: GPL-2.0-or-later
"""The grammar of a sample's line in the text of ``perf script``, whichever fields were asked for.

The order of the fields is fixed (``process_event`` of builtin-script.c); which of them are there follows from their
looks, from the data source outwards: it is the one field that nothing else looks like.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_MARK = "|OP "
# perf cuts all of it at 100 characters, most often in the last field.
_BARS = re.compile(
    r"\|OP [^|]*\|LVL [^|]*\|SNP [^|]*\|TLB [^|]*\|LCK (?:N/A|Yes|No)"
    r"(?:\|B?L?K?(?:\s+[NDA][a-zA-Z/]{0,3})?(?:\s+A[dr]{0,3})?)?(?:\|[A-Z]{3} \S+)*"
)
_CUT_BARS = re.compile(r"(?:\|[A-Z]{2,3} [^|]*)+")
_NUMBER = re.compile(r"\d+$|[0-9a-f]{4,}$", re.ASCII)
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]{1,16}$", re.ASCII)
_SECONDS = re.compile(r"\d{1,12}\.\d{1,9}:$", re.ASCII)
_DATE, _CLOCK = re.compile(r"\d{4}-\d\d-\d\d$", re.ASCII), re.compile(r"\d\d:\d\d:\d\d\.\d{1,9}$", re.ASCII)
_MISC = re.compile(r"[KUHGgMESp]{1,4}$")
_CPU = re.compile(r"\[(\d{1,6})\]$", re.ASCII)
_TASK = re.compile(r"(-?\d{1,10})(?:/(-?\d{1,10}))?$", re.ASCII)
# A word of many hexadecimal digits is no symbol but the physical address.
_COLUMNS = re.compile(
    r"(?P<numbers>(?:\s+\d{1,20})*)(?:\s+(?P<group>/\S*|unknown))?\s+(?P<ip>[0-9a-f]{1,16})"
    r"(?:\s+(?P<place>(?![0-9a-f]{5,16}(?:\s|$))[^\s\d].*)|(?:\s+[0-9a-f]{1,16})?)$",
    re.ASCII,
)
# A line with the fields that most ask for, which can be taken in one way only.
_PRINTED = re.compile(
    r" *((?!VM:)[^\s\d\-|][^|]{0,80}? +)?(\d{1,10})(?:/(\d{1,10}))? +\[(\d{1,6})\] +\d{1,12}\.\d{1,9}: +(?:\d{1,20} +)?"
    rf"(\S{{1,200}}): +([0-9a-f]{{1,16}}) +([0-9a-f]{{1,16}}) +{_BARS.pattern} +(\d{{1,20}})(?: +\d{{1,20}})*"
    r" +(?=\d*[a-f])([0-9a-f]{1,16})"
    r"(?: +((?![0-9a-f]{5,16}(?:\s|$))[^\s\d].*))?$",
    re.ASCII,
)
_OBJECT_BEGINS, _OBJECT_ENDS = re.compile(r"(?:^|\s)\((?=[/\[])"), re.compile(r"\)(?=\s|$)")
_OFFSET = re.compile(r"\+0x([0-9a-f]{1,16})$")
_LONGEST_ID = 7
_LONGEST_EVENT_WORDS = 4


class CodePlace(NamedTuple):
    """A code address with what perf knew of it; ``None``: not printed, or perf did not know.

    ``start`` is where the symbol begins, if the distance to it was printed.
    """

    address: int | None = None
    symbol: str | None = None
    object_file: str | None = None
    start: int | None = None


class SampledTask(NamedTuple):
    """What stands in front of the data address; ``mode`` is a letter of ``-F misc`` (K, U, H, G, g)."""

    command: str = ""
    pid: int | None = None
    tid: int | None = None
    cpu: int | None = None
    event: str = ""
    mode: str = ""


class ScriptSample(NamedTuple):
    """One sample; ``source`` is the raw ``perf_mem_data_src``, ``weight`` mostly in CPU cycles."""

    task: SampledTask
    address: int | None
    source: int
    weight: int | None
    place: CodePlace
    callers: tuple[str, ...] = ()


def read_sample(line: str) -> ScriptSample | None:
    """The sample on ``line``, or ``None`` when it has no data source: a number in front of its words."""
    printed = _PRINTED.match(line)
    if printed is not None:
        command, first, tid, cpu, event, address, data, cycles, ip, where = printed.groups()
        # A number alone is the thread's.
        pid, thread = (int(first), int(tid)) if tid else (None, int(first))
        task = SampledTask(" ".join((command or "").split()), pid, thread, int(cpu), event)
        return ScriptSample(task, int(address, 16), int(data, 16), int(cycles), read_place(int(ip, 16), where or ""))
    at = line.find(_MARK)
    words = line[: max(at, 0)].split()
    if not words or not _HEX.match(words[-1]):
        return None
    source = int(words.pop(), 16)
    address = _address(words)
    bars = _BARS.match(line, at)
    weight, place = _columns(line[bars.end() if bars else _behind_cut_bars(line, at) :])
    return ScriptSample(_task(words), address, source, weight, place)


def _address(words: list[str]) -> int | None:
    """The data address, which is taken from ``words``; a short number behind no event is a thread."""
    if not words or not _HEX.match(words[-1]):
        return None
    alone = words[-1].isdecimal() and len(words[-1]) <= _LONGEST_ID
    if alone and not any(word.endswith(":") for word in words):
        return None
    return int(words.pop(), 16)


def _task(words: list[str]) -> SampledTask:
    """The fields in front of the address, read from the last one to the first."""
    event, words = _event(words)
    if words and words[-1].isdecimal() and len(words) > 1 and _SECONDS.match(words[-2]):
        words.pop()
    if words and _SECONDS.match(words[-1]):
        words.pop()
    if len(words) > 1 and _CLOCK.match(words[-1]) and _DATE.match(words[-2]):
        del words[-2:]
    misc = _MISC.match(words[-1]) if len(words) > 1 else None
    if misc:
        words.pop()
    cpu = _CPU.match(words[-1]) if words else None
    if cpu:
        words.pop()
    pid, tid = _process(words)
    mode = misc.group()[0] if misc else ""
    if words and words[0].startswith("VM:"):
        # The process of the virtual machine and the number of its CPU.
        first = 2 if words[0] == "VM:" else 1
        words = words[first + (len(words) > first and words[first].startswith("VCPU:")) :]
        mode = mode if mode in ("G", "g") else "G"
    return SampledTask(" ".join(words), pid, tid, int(cpu[1]) if cpu else None, event, mode)


def _process(words: list[str]) -> tuple[int | None, int | None]:
    """Process and thread; a number alone is a thread, for that is what perf prints unless it is asked for both."""
    found = _TASK.match(words[-1]) if words else None
    if found is None:
        return None, None
    words.pop()
    return (int(found[1]), int(found[2])) if found[2] else (None, int(found[1]))


def _event(words: list[str]) -> tuple[str, list[str]]:
    """The event's name and the words in front of it; flags may stand behind it."""
    for at in range(len(words) - 1, max(len(words) - _LONGEST_EVENT_WORDS, -1), -1):
        if words[at].endswith(":") and len(words[at]) > 1 and not _SECONDS.match(words[at]):
            return words[at][:-1], words[:at]
    return "", words


def _behind_cut_bars(line: str, at: int) -> int:
    """Where the columns go on behind words that perf cut at 100 characters: at the first number."""
    bars = _CUT_BARS.match(line, at)
    start = line.rfind("|", at, bars.end() if bars else len(line))
    for found in re.finditer(r"\S+", line[start:]):
        if _NUMBER.match(found.group()):
            return start + found.start() - 1
    return len(line)


def _columns(text: str) -> tuple[int | None, CodePlace]:
    """The weight and the code address behind the data source; further latencies are passed over."""
    found = _COLUMNS.match(text)
    if found is None or (found["place"] is None and not found["numbers"] and found["ip"].isdecimal()):
        numbers = text.split()
        return (int(numbers[0]) if numbers and numbers[0].isdecimal() else None), CodePlace()
    if found["place"] is None and found["ip"].isdecimal() and len(found["ip"]) <= _LONGEST_ID:
        return int(found["numbers"].split()[0]), CodePlace()
    numbers = found["numbers"].split()
    weight = int(numbers[0]) if numbers else None
    return weight, read_place(int(found["ip"], 16), found["place"] or "")


@lru_cache(maxsize=1 << 15)
def read_place(address: int, text: str) -> CodePlace:
    """The symbol and the object behind a code address: ``schedule+0x12 ([kernel.kallsyms])``."""
    text = " ".join(text.split()).removesuffix(" (inlined)")
    # The object's name is in the first brackets around a path or a name in brackets, else in the last ones. Its own
    # may follow in it: ``(/dev/zero (deleted))``. Without an object the whole is symbol.
    opened = _OBJECT_BEGINS.search(text)
    begin = opened.end() if opened else text.rfind(" (") + 2
    closed = _OBJECT_ENDS.search(text, begin) if opened or begin > 1 else None
    begin, end = (begin, closed.start()) if closed else (len(text), 0)
    symbol = text[:begin].rstrip(" (")
    offset = _OFFSET.search(symbol)
    symbol = symbol[: offset.start()] if offset else symbol
    where = _OFFSET.sub("", text[begin:end]) if end else None
    known = symbol if symbol and not symbol.startswith("[") else None
    return CodePlace(address, known, where, address - int(offset[1], 16) if known and offset else None)
