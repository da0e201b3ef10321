# SPDX-License-Identifier: GPL-2.0-or-later
"""The formats that are read, recognised by how a file begins; the reader of another tool's is loaded when needed.

A profile that linesmith wrote is read here: JSON, or a compact file, which is its mark, a byte with the version, and
one zlib stream of the profile in MessagePack.
"""

from __future__ import annotations

import html
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, fields, is_dataclass, replace
from hashlib import blake2b
from itertools import chain, count, islice, pairwise, repeat
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from linesmith.analyzer.base.errors import ProfileError
from linesmith.analyzer.base.text import is_plain
from linesmith.analyzer.model import Access, CacheLine, Conflict, CpuCounts, Profile
from linesmith.plugins.api import UNPRINTABLE, decode, head_text, printable_profile, read_bytes

COMPACT_MAGIC = b"LSMPROF"
_PERF_MAGIC = b"PERFILE2"
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
VERSION, COMPACT_VERSION = 1, 4
JSON = ".json"
# What a document may unpack to: the largest that a recorder writes.
_MOST_BYTES = 256 << 20
_LEVEL = 6
_BLOCK = 1 << 16
_LINE_SIZES = (64, 128, 256)
_LIMIT = 1 << 64
# What msgspec and zlib raise for damaged files.
_DAMAGE = (ValueError, RecursionError, zlib.error)
# Of the file that was read last, its lines and a digest.
_last: list[tuple[tuple[CacheLine, ...], bytes]] = []


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
        from linesmith.plugins.profiles.draft_to_profile import read_c2c

        return read_c2c(path, source)


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

        return (read_perf_data(path, source),)


class RecordedProfile:
    """What ``linesmith record`` and ``hot --save`` wrote; see ``docs/profiles.md``."""

    name = "linesmith-profile"

    def recognises(self, head: bytes) -> bool:
        """Whether ``head`` begins as one of the two forms does."""
        text = head_text(head)
        return head.startswith(COMPACT_MAGIC) or (text.lstrip().startswith("{") and _MARK in text[:200])

    def read(self, path: Path, source: str) -> tuple[Profile, ...]:
        """The one profile of the file, printable; raises ``ProfileError`` when it is damaged or of another version."""
        return read_recorded(path, source)


# Takes off what mails, archives and terminals put around a report, and remembers the original line numbers.

_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_QUOTE = re.compile(r"\s{0,4}(?:>[ \t]?){1,20}")
# Sequences that colour or move (ECMA-48: CSI, in seven bits or eight; OSC, which ends with BEL or ST).
_ESCAPE = re.compile(r"(?:\x1b\[|\x9b)[0-9;:?<=>]{0,32}[ -/]{0,4}[@-~]|\x1b\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)?")
_INVISIBLE = re.compile("[\ufeff\u200b-\u200f\u2060\u00ad]")
# What cannot be printed, and the box drawing, blocks and shapes of a copied terminal window. Blanks of all kinds stay.
_DRAWN = re.compile("(?![\t\v\f\u0085\u2028\u2029])[" + UNPRINTABLE + "\u2500-\u25ff]")
# Texts of nothing else have nothing to take off within a line.
_PLAIN = bytes((0x0A, 0x0D, *range(0x20, 0x7F)))
_QP_EVIDENCE = re.compile(r"=(?:3D|20|09|C2=A0|E2=80)")
_QP_BYTES = re.compile(r"(?:=[0-9A-F]{2})+")
_ENTITY = re.compile(r"&(?:gt|lt|nbsp|amp|quot|#\d{2,6}|#x[0-9a-fA-F]{2,6});")
_NUMBERED = re.compile(r"^\s{0,8}(\d{1,7})(?:\t|[:|] ?| {2})")


class TextLine(NamedTuple):
    """A line of the text as the report's author saw it; ``number`` is its first line in the input, from 1."""

    number: int
    text: str


def unmail(text: str) -> Iterator[TextLine]:
    """The lines of ``text`` without quoting, transfer encoding, entities, numbering and terminal codes."""
    encoded, entities = _QP_EVIDENCE.search(text), _ENTITY.search(text)
    quoted = encoded or entities or ">" in text or not text.isascii()
    if not quoted and not any(block.encode().translate(None, _PLAIN) for block in _blocks(text)):
        plain = chain.from_iterable(map(str.splitlines, _blocks(text)))
        return _unnumbered(map(tuple.__new__, repeat(TextLine), enumerate(plain, 1)))
    lines: Iterator[TextLine] = map(TextLine, count(1), map(itemgetter(1), _LINE.finditer(text)))
    if encoded:
        lines = _joined(lines)
    if entities:
        lines = (TextLine(line.number, html.unescape(line.text)) for line in lines)
    return _unnumbered(TextLine(line.number, bare(line.text)) for line in lines)


def _blocks(text: str) -> Iterator[str]:
    """The text in parts of whole lines, which stay in the cache of the CPU until they are read."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin + _BLOCK) + 1 or len(text)
        yield text[begin:end]
        begin = end


def bare(text: str) -> str:
    """One line without control characters, drawings and quoting."""
    if not (text.isascii() and text.isprintable()):
        text = _DRAWN.sub(" ", _INVISIBLE.sub("", _ESCAPE.sub("", text)))
    quote = _QUOTE.match(text) if ">" in text else None
    return text[quote.end() :] if quote else text


def _joined(lines: Iterator[TextLine]) -> Iterator[TextLine]:
    """Quoted-printable decoded (RFC 2045, 6.7): soft breaks joined, ``=XX`` turned back into characters."""
    parts: list[str] = []
    first = 0
    for number, text in lines:
        first = first if parts else number
        # A line of many equal signs is a banner.
        soft = text.endswith("=") and (bool(text.strip("= \t>")) or text.count("=") == 1)
        parts.append(text[:-1] if soft else text)
        if not soft:
            yield TextLine(first, _QP_BYTES.sub(_unquoted, "".join(parts)))
            parts.clear()
    if parts:
        yield TextLine(first, _QP_BYTES.sub(_unquoted, "".join(parts)))


def _unquoted(found: re.Match[str]) -> str:
    return bytes.fromhex(found.group().replace("=", "")).decode("utf-8", "replace")


def _unnumbered(lines: Iterator[TextLine]) -> Iterator[TextLine]:
    """Without the numbers of ``cat -n`` (or of an editor), when the lines of the beginning count up."""
    head = list(islice(lines, 400))
    every = chain(head, lines)
    if not _counts_up([line.text for line in head if line.text.strip()]):
        return every
    return (TextLine(line.number, _NUMBERED.sub("", line.text, count=1)) for line in every)


def _counts_up(texts: list[str]) -> bool:
    """Whether most lines begin with their number; rows of the line table (``0  0x...``) count up as well."""
    found = [match for text in texts if (match := _NUMBERED.match(text))]
    rows = sum(1 for match in found if match.string[match.end() :].lstrip().startswith("0x"))
    if len(found) < 5 or len(found) * 10 < len(texts) * 6 or rows * 2 > len(found):
        return False
    numbers = [int(match.group(1)) for match in found]
    return sum(1 for first, second in pairwise(numbers) if second - first == 1) * 10 >= len(numbers) * 8


class _ProfileHead(msgspec.Struct):
    """What a JSON document of any version has."""

    version: int = msgspec.field(name="linesmith-profile")


class _ProfileDocument(_ProfileHead, forbid_unknown_fields=True):
    """The JSON document: its version, then the profile as the model has it."""

    profile: Profile


def encode(profile: Profile) -> bytes:
    """The JSON document for a profile, one line of UTF-8 with a newline; fields at their defaults are left out."""
    return msgspec.json.encode({"linesmith-profile": VERSION, "profile": _terse(profile)}) + b"\n"


def _terse(value: object) -> object:
    """Dataclasses as dictionaries without fields at their defaults: half the size."""
    if is_dataclass(value):
        found = ((one.name, getattr(value, one.name), one.default) for one in fields(value))
        return {name: _terse(item) for name, item, default in found if default is MISSING or item != default}
    return [_terse(item) for item in value] if isinstance(value, tuple) else value


def encode_for(profile: Profile, name: Path) -> bytes:
    """What a file of that name shall hold: JSON if it ends in ``.json``, the compact form otherwise.

    Raises ``ProfileError`` for a profile that would not be read back.
    """
    if name.suffix == JSON:
        return encode(profile)
    try:
        document = msgspec.msgpack.encode(profile)
    except OverflowError as error:
        raise ProfileError(f"{name} cannot store this profile: {error}; name a file that ends with {JSON}") from error
    if len(document) > _MOST_BYTES:
        raise ProfileError(f"{name} cannot store a profile of more than {_MOST_BYTES >> 20} MiB; record less")
    return COMPACT_MAGIC + bytes((COMPACT_VERSION,)) + zlib.compress(document, _LEVEL)


def read_recorded(path: Path, source: str) -> tuple[Profile, ...]:
    """The one profile of the file, every text of it printable.

    Raises ``ProfileError`` when it is damaged or of another version.
    """
    data = read_bytes(path, source)
    try:
        compact = data.startswith(COMPACT_MAGIC)
        found, is_checked = _from_compact(data, source) if compact else (_from_json(data, source), False)
    except _DAMAGE as error:
        # The first line of what a library has to say, without its full stop and what a terminal would obey.
        said = (str(error).splitlines() or [type(error).__name__])[0].rstrip(". ")
        words = "".join(letter if letter.isprintable() else "?" for letter in said)
        raise ProfileError(f"{source} is a damaged profile of linesmith ({words}); record it again") from error
    if not is_checked:
        if not _is_plausible(found):
            raise ProfileError(f"{source} has a count below 0 or above 64 bits; record it again")
        found = printable_profile(found)
    if any(line.bytes not in _LINE_SIZES for line in found.lines):
        raise ProfileError(f"{source} has a line that is not of 64, 128 or 256 bytes; record it again")
    if not all(min(one.size, one.stride, one.count) > 0 <= one.address < one.end <= _LIMIT for one in found.areas):
        raise ProfileError(f"{source} has an object of no size or beyond all addresses; record it again")
    _last[:] = [(found.lines, blake2b(data).digest())]
    return (replace(found, source=source),)


def digest_of(lines: tuple[CacheLine, ...]) -> bytes:
    """A digest that stands for these lines, if they are those that were read last; else none."""
    return next((digest for read, digest in _last if read is lines), b"")


def _from_compact(data: bytes, source: str) -> tuple[Profile, bool]:
    """The profile, and whether all numbers and texts of it are known to be as they should."""
    begin = len(COMPACT_MAGIC) + 1
    version = int.from_bytes(data[begin - 1 : begin], "little")
    if version != COMPACT_VERSION:
        raise _other_version(source, version)
    unpacking = zlib.decompressobj()
    document = unpacking.decompress(memoryview(data)[begin:], _MOST_BYTES)
    if not unpacking.eof or unpacking.unused_data:
        raise ValueError("it is truncated, larger than any recorder makes it, or has data after its end")
    return msgspec.msgpack.decode(document, type=Profile), is_plain(document)


def _from_json(data: bytes, source: str) -> Profile:
    text = decode(data, source).encode()
    version = msgspec.json.decode(text, type=_ProfileHead).version
    if version != VERSION:
        raise _other_version(source, version)
    return msgspec.json.decode(text, type=_ProfileDocument).profile


def _other_version(source: str, version: int) -> ProfileError:
    return ProfileError(
        f"{source} is a profile of linesmith in version {version}, but this linesmith reads version {VERSION} (JSON) "
        f"and {COMPACT_VERSION} (compact); record it again, or use the linesmith that wrote it"
    )


def _is_plausible(profile: Profile) -> bool:
    """Whether every share, offset, count and address of the lines lies between 0 and 2^64 - 1."""
    accesses = [access for line in profile.lines for access in line.accesses]
    paths = chain.from_iterable(access.call_paths for access in accesses)
    return (
        all(0 <= (line.share or 0) < _LIMIT for line in profile.lines)
        and _are_numbers(CacheLine, profile.lines)
        and _are_numbers(Access, accesses)
        and all(0 <= number < _LIMIT for path in paths for number in (path.count, *path.returns))
        and _are_numbers(CpuCounts, chain.from_iterable(access.by_cpu for access in accesses))
        and _are_numbers(Conflict, chain.from_iterable(line.conflicts for line in profile.lines))
    )


def _are_numbers(kind: type[Any], records: Iterable[object]) -> bool:
    names = [one.name for one in fields(kind) if one.type in ("int", "int | None")]
    numbers: Callable[[object], tuple[int | None, ...]] = attrgetter(*names)
    found = set(chain.from_iterable(map(numbers, records)))  # most of millions are alike
    return all(0 <= (number or 0) < _LIMIT for number in found)
