# SPDX-License-Identifier: GPL-2.0-or-later
"""Which reader gets a file, what the user hears about files that are no profile, and what all readers keep."""

from __future__ import annotations

import os
import sys
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pathlib import Path

import pytest
from profiles.c2c_text import LineSpec, ReportSpec, RowSpec, render
from profiles.conformance import breaches
from profiles.example_files import EXAMPLES
from profiles.posted import read

from linesmith.analyzer.base.errors import ProfileError
from linesmith.plugins import registry
from linesmith.plugins.api import ProfileSource
from linesmith.plugins.registry import profile_sources, read_profiles

REPORT = render(
    ReportSpec((LineSpec(0xFFFF888100000040, (RowSpec(8, (1, 2, 3, 4, 5), 0xFFFFFFFF81000000, "f", "[x]", "f+1"),)),))
)


@pytest.mark.parametrize(
    "data",
    [b"A long thread.\n" * 6000 + REPORT.encode(), REPORT.encode("utf-8-sig"), b"caf\xe9 \xff\n" + REPORT.encode()],
    ids=["far behind the beginning", "with a mark of the encoding", "bytes that are no text in any encoding"],
)
def test_report_is_found_in_any_encoding_and_place(data: bytes) -> None:
    assert read(data)[-1].lines[0].hitm_local == 2


def test_report_out_of_a_pipe() -> None:
    reading, writing = os.pipe()
    os.write(writing, REPORT.encode())
    os.close(writing)
    (profile,) = read_profiles(Path(f"/dev/fd/{reading}"))
    assert profile.source == f"/dev/fd/{reading}"


def test_a_pipe_without_end_that_holds_no_profile_is_left() -> None:
    with pytest.raises(ProfileError, match="/dev/zero is larger than 256 MiB"):
        read_profiles(Path("/dev/zero"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x1f\x8b\x08", "gzip"),
        (REPORT.encode("utf-16"), "is text in UTF-16; convert it with `iconv"),
        (b"2ELIFREP", "is a perf.data file of a big-endian machine; give the text of `perf script"),
        (bytes(1000), "binary.*; give the perf.data itself, or the text of `perf c2c report --stdio`$"),
    ],
)
def test_foreign_data_is_refused_in_one_sentence(data: bytes, words: str) -> None:
    with pytest.raises(ProfileError, match=words) as refusal:
        read(data)
    assert "\n" not in str(refusal.value)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"cannot read the profile .*No such file"):
        read_profiles(tmp_path / "absent")
    with pytest.raises(ProfileError, match="cannot read the profile"):
        read_profiles(tmp_path)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
        ("class Reader: pass", "is not a profile reader"),
    ],
)
def test_broken_plugin_is_a_sentence_and_hinders_no_other(
    body: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_reader.py").write_text(body)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "broken_reader", raising=False)
    point = EntryPoint("tape", "broken_reader:Reader", "linesmith.profiles")
    points = EntryPoints([point, *entry_points(group="linesmith.profiles")])
    monkeypatch.setattr(registry, "entry_points", lambda group: points.select(group=group))
    assert len(read(REPORT)) == 1
    message = f"the profile reader tape cannot be loaded .*{words}.*; reinstall or remove"
    with pytest.raises(ProfileError, match=message):
        read(b"nothing")


TAPE = """
from linesmith.analyzer.model import Access, CacheLine, Profile
from linesmith.plugins.profiles.formats import RecordedProfile


class Reader({base}):
    name = "tape"
    printable = True

    def recognises(self, head):
        return head.startswith(b"tape")

    def read(self, path, source):
        return (Profile(source, "\\x1b[2J", "hitm", (CacheLine(0, 0, (Access(0, "f"),)),)),)
"""


@pytest.mark.parametrize("base", ["", "RecordedProfile"])
def test_no_plugin_can_say_that_its_texts_are_printable(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tape_reader.py").write_text(TAPE.format(base=base))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "tape_reader", raising=False)
    points = EntryPoints([EntryPoint("tape", "tape_reader:Reader", "linesmith.profiles")])
    monkeypatch.setattr(registry, "entry_points", lambda group: points.select(group=group))
    assert read(b"tape")[0].title == "\ufffd[2J"


@pytest.mark.parametrize(
    ("begin", "words"),
    [(b"\x7fELF", "huge is an ELF file, not a profile; the ELF comes first"), (b"", "huge is larger than 256 MiB")],
)
def test_a_file_too_large_for_a_report_is_refused_unread(begin: bytes, words: str, tmp_path: Path) -> None:
    """What it is comes first: a kernel with debug information may be given in place of the profile."""
    with (tmp_path / "huge").open("wb") as file:
        file.write(begin)
        file.truncate(1 << 40)
    with pytest.raises(ProfileError, match=words):
        read_profiles(tmp_path / "huge")


@pytest.mark.parametrize("source", profile_sources(), ids=lambda source: source.name)
def test_installed_source_conforms(source: ProfileSource, tmp_path: Path) -> None:
    made = {name: make(tmp_path / name) for name, make in EXAMPLES.items()}
    foreign = [example.path for name, example in made.items() if name != source.name]
    assert list(breaches(source, made[source.name], foreign)) == []
