# SPDX-License-Identifier: GPL-2.0-or-later
"""Every installed source keeps what all of them have to keep, and a source that does not is found out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from profiles.example_files import EXAMPLES

from linesmith.analyzer.base.errors import ProfileError
from linesmith.analyzer.model import Access, CacheLine, CallPath, Profile, SampleOutcome, Sampling
from linesmith.plugins.api import ProfileSource
from linesmith.plugins.conformance import Example, breaches
from linesmith.plugins.registry import profile_sources

_MARK = b"TAPE1\n"


@pytest.mark.parametrize("source", profile_sources(), ids=lambda source: source.name)
def test_installed_source_conforms(source: ProfileSource, tmp_path: Path) -> None:
    made = {name: make(tmp_path / name) for name, make in EXAMPLES.items()}
    foreign = [example.path for name, example in made.items() if name != source.name]
    assert list(breaches(source, [made[source.name]], foreign)) == []


class Tape:
    """A source of files that begin with TAPE1; ``line`` is what it finds in each."""

    name = "tape"

    def __init__(self, line: CacheLine | None = None, **fields: object) -> None:
        self._line = line or CacheLine(0, 64, (Access(8, "f", hitm_local=1),), hitm_local=1)
        self._fields = fields

    def recognises(self, head: bytes) -> bool:
        return head.startswith(_MARK)

    def read(self, path: Path, source: str) -> tuple[Profile, ...]:
        if path.read_bytes() != _MARK + b"one line\n":
            raise ProfileError(f"{source} is damaged; make it again")
        return (Profile(source, "", "hitm", (self._line,), **self._fields),)  # type: ignore[arg-type]


@pytest.fixture
def tape(tmp_path: Path) -> Example:
    path = tmp_path / "some.tape"
    path.write_bytes(_MARK + b"one line\n")
    return Example(path)


def test_source_that_conforms(tape: Example) -> None:
    assert list(breaches(Tape(), [tape])) == []
    assert list(breaches(Tape(), [])) == ["there is no example to check the source with"]
    (breach,) = breaches(object(), [tape])
    assert "has no name, recognises and read" in breach


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (CacheLine(0, 65, ()), "0x41 is no address of a line"),
        (CacheLine(0, 64, (), bytes=48), "48 bytes are no size"),
        (CacheLine(0, 64, (Access(64, "f"),)), "offset 64 lies outside"),
        (CacheLine(0, 64, (Access(8, "f", records=-1),)), "records is -1"),
        (CacheLine(0, 64, (Access(8, "f\x1b[31m"),)), "not for showing"),
        (CacheLine(0, 64, (Access(8, "f", call_paths=(CallPath(("a\u202eb",), 1),)),)), "not for showing"),
        (CacheLine(0, 64, (Access(8, "f", hitm_local=9),), hitm_local=2), "add up to 9, that of the line is 2"),
    ],
)
def test_unsound_line_is_found(line: CacheLine, words: str, tape: Example) -> None:
    (breach,) = breaches(Tape(line), [tape])
    assert words in breach


def test_samples_that_went_missing_are_found(tape: Example) -> None:
    sampling = Sampling(((SampleOutcome.SHARED_LINE, 7),))
    (breach,) = breaches(Tape(sampling=sampling), [Example(tape.path, 8)])
    assert "add up to 7 samples instead of 8" in breach


class Fragile(Tape):
    """It fails at what is cut short, with what it is given."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def read(self, path: Path, source: str) -> tuple[Profile, ...]:
        if path.stat().st_size < len(_MARK):
            raise self._error
        return super().read(path, source)


class Greedy(Tape):
    """It takes every file, and every time for another."""

    readings = 0

    def recognises(self, head: bytes) -> bool:
        return len(head) >= 0

    def read(self, path: Path, source: str) -> tuple[Profile, ...]:
        self.readings += 1
        (profile,) = super().read(path, source)
        return (replace(profile, title=str(self.readings)),)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (Greedy(), "recognises() does not say False"),
        (Fragile(ZeroDivisionError()), "read() raises ZeroDivisionError"),
        (Fragile(ProfileError("it is\nshort")), "the refusal is not one line"),
        (Fragile(ProfileError("it is\nshort")), "the refusal does not name the file"),
        (Greedy(), "read again, the profiles are others"),
    ],
)
def test_source_that_misbehaves_is_found(source: Tape, words: str, tape: Example) -> None:
    assert any(words in breach for breach in breaches(source, [tape]))
