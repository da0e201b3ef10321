# SPDX-License-Identifier: GPL-2.0-or-later
"""What a script of steps reports, and what else may come the same way."""

from __future__ import annotations

from pathlib import Path

import pytest

from linesmith.analyzer.errors import GuestFailed, GuestOutOfMemory
from linesmith.analyzer.model import Done, Step
from linesmith.plugins.machines.transcript import Transcript

STEP = Step(("prog",))


class Said:
    """A conversation of which all has been said."""

    def __init__(self, text: bytes) -> None:
        self._rest = text

    def line(self, doing: str) -> str:
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode() if doing else ""

    def take(self, count: int, doing: str) -> bytes:
        taken, self._rest = self._rest[:count], self._rest[count:]
        return taken if doing else b""

    def limit(self, seconds: float) -> None:
        assert seconds > 0


def done(text: bytes, scratch: Path) -> Done:
    return Transcript(Said(text), "word").done(STEP, 1, scratch, lambda _: None)


def test_a_greeting_before_the_facts_is_passed_over() -> None:
    said = Said(b"Welcome!\nready\nword fact cpu=A model = B\nfact cpu=C\nword fact notes=zz\nword ready\n")
    introduction = Transcript(said, "word").introduction(9)
    assert introduction.described() == (("cpu", "A model = B"),)


def test_the_build_id_is_told_by_the_notes() -> None:
    notes = "040000000200000003000000474e5500abcd0000"
    introduction = Transcript(Said(f"word fact notes={notes}\nword ready\n".encode()), "word").introduction(9)
    assert introduction.build_id == "abcd"
    assert introduction.described() == (("build-id", "abcd"),)


def test_both_streams_follow_the_message(tmp_path: Path) -> None:
    ended = done(b"word began 1\nword done 1 3 10.25 10,75 0 4 2\nout\nno", tmp_path)
    assert (ended.status, ended.output, ended.errors, ended.seconds) == (3, "out\n", "no", 0.5)


def test_a_message_without_our_word_is_not_ours(tmp_path: Path) -> None:
    with pytest.raises(GuestFailed, match=r"the machine said 'done 1 0 1 1 0 0 0' while running step 1 \(prog\)"):
        done(b"word began 1\ndone 1 0 1 1 0 0 0\n", tmp_path)


def test_a_message_that_makes_no_sense_is_told(tmp_path: Path) -> None:
    with pytest.raises(GuestFailed, match=r"message about step 1 \(prog\) makes no sense \(0 soon later 0 0 0\)"):
        done(b"word began 1\nword done 1 0 soon later 0 0 0\n", tmp_path)


def test_a_step_that_failed_while_processes_were_killed_for_memory(tmp_path: Path) -> None:
    with pytest.raises(
        GuestOutOfMemory, match=r"step 1 \(prog\) ended with status 137 while the kernel killed for want"
    ):
        done(b"word began 1\nword done 1 137 1.0 2.0 1 0 0\n", tmp_path)


def test_a_step_that_did_well_meanwhile_is_fine(tmp_path: Path) -> None:
    assert done(b"word began 1\nword done 1 0 1.0 2.0 1 0 0\n", tmp_path).status == 0


def test_a_clock_that_runs_away_makes_the_times_worthless(tmp_path: Path) -> None:
    with pytest.raises(GuestFailed, match=r"60\.0 s passed on the machine's clock in 0\.0 s: its times are wrong"):
        done(b"word began 1\nword done 1 0 100.0 160.0 0 0 0\n", tmp_path)
