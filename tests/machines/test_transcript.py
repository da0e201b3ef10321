# SPDX-License-Identifier: GPL-2.0-or-later
"""What a script of steps reports, and what else may come the same way."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from linesmith.analyzer.base.errors import GuestFailed, GuestOutOfMemory
from linesmith.analyzer.model import Done, Step
from linesmith.plugins.machines.steps import Introduction, Transcript
from linesmith.plugins.machines.talk import Wire


class Said(Wire):
    """A conversation of which all has been said."""

    def __init__(self, text: str) -> None:
        self._rest = text.encode()

    def line(self, doing: str) -> str:
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode() if doing else ""

    def take(self, count: int, doing: str) -> bytes:
        taken, self._rest = self._rest[:count], self._rest[count:]
        return taken if doing else b""

    def limit(self, seconds: float) -> None:
        assert seconds > 0


def introduced(text: str) -> Introduction:
    return Transcript(Said(text), "word").introduction(9)


def done(text: str, scratch: Path) -> Done:
    return Transcript(Said("word began 1\n" + text), "word").done(Step(("prog",)), 1, scratch, lambda _: None)


def test_a_greeting_before_the_facts_is_passed_over() -> None:
    said = "Welcome!\nready\nword fact cpu=A model = B\nfact cpu=C\nword fact notes=zz\nword ready\n"
    assert introduced(said).described() == (("cpu", "A model = B"),)


def test_the_notes_hold_the_build_id() -> None:
    found = introduced("word fact notes=040000000200000003000000474e5500abcd0000\nword ready\n")
    assert (found.build_id, found.described()) == ("abcd", (("build-id", "abcd"),))


def test_both_streams_follow_the_message(tmp_path: Path) -> None:
    ended = done("word done 1 3 10.25 10,75 0 4 2\nout\nno", tmp_path)
    assert (ended.status, ended.output, ended.errors, ended.seconds) == (3, "out\n", "no", 0.5)


def test_a_step_that_did_well_while_others_were_killed_for_memory_is_fine(tmp_path: Path) -> None:
    assert done("word done 1 0 1.0 2.0 1 0 0\n", tmp_path).status == 0


@pytest.mark.parametrize(
    ("message", "error", "why"),
    [
        ("done 1 0 1 1 0 0 0", GuestFailed, "the machine sent 'done 1 0 1 1 0 0 0' while running step 1 (prog)"),
        ("word done 1 0 soon later 0 0 0", GuestFailed, "message about step 1 (prog) is invalid (0 soon later"),
        (
            "word done 1 137 1.0 2.0 1 0 0",
            GuestOutOfMemory,
            "step 1 (prog) ended with status 137 while the kernel was out of memory",
        ),
        (
            "word done 1 0 100.0 160.0 0 0 0",
            GuestFailed,
            "60.0 s passed on the machine's clock in 0.0 s: its clock is wrong",
        ),
    ],
)
def test_a_message_that_is_no_good_end(message: str, error: type[GuestFailed], why: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=re.escape(why)):
        done(f"{message}\n", tmp_path)
