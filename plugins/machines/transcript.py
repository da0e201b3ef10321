# SPDX-License-Identifier: GPL-2.0-or-later
"""What a script of steps reports, read as it comes, and kept in files as far as it came."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from linesmith.analyzer.errors import GuestFailed, GuestOutOfMemory
from linesmith.analyzer.model import Done, Step
from linesmith.plugins.api import Tell
from linesmith.plugins.machines.elf_image import build_id_in_notes
from linesmith.plugins.machines.output import MOST_BYTES, read_output
from linesmith.plugins.machines.step_words import name_of

# For what goes on between two steps, and for what a step printed to come over, at the slowest rate seen.
_PAUSE_SECONDS = 60
_SLOWEST_BYTES = 20_000
# How far two clocks may be apart: by what messages take on a busy host, and by a share of the time.
_CLOCK_SECONDS = 3.0
_CLOCK_SHARE = 0.2


class Conversation(Protocol):
    """The other side; each call raises a ``GuestFailed`` or a subclass when nothing more is to be expected."""

    def line(self, doing: str) -> str:
        """The next line; ``doing`` says in messages what was going on."""

    def take(self, count: int, doing: str) -> bytes:
        """The next ``count`` bytes."""

    def limit(self, seconds: float) -> None:
        """From now on wait for so many seconds at most."""


@dataclass(frozen=True, slots=True)
class Introduction:
    """What the other side said of itself before the first step, by name; ``release`` and ``notes``, in hex, too."""

    facts: tuple[tuple[str, str], ...]

    def fact(self, name: str) -> str:
        """The fact of that name; empty without one."""
        return dict(self.facts).get(name, "")

    def described(self) -> tuple[tuple[str, str], ...]:
        """The facts that a reader wants, with the build-id for the notes."""
        told = (("build-id", self.build_id or ""), *self.facts)
        return tuple((name, value) for name, value in told if value and name not in ("release", "notes"))

    @property
    def build_id(self) -> str | None:
        """That of the kernel that booted; ``None`` when it does not tell."""
        try:
            return build_id_in_notes(bytes.fromhex(self.fact("notes")))
        except ValueError:
            return None


class Transcript:
    """The report of a script whose messages begin with ``nonce``."""

    def __init__(self, talk: Conversation, nonce: str) -> None:
        self._talk = talk
        self._nonce = nonce
        self._clocks = _Clocks()

    def introduction(self, seconds: float) -> Introduction:
        """Everything up to ``ready``, within so many seconds.

        What else comes this way, such as the greeting of a login shell, is passed over.
        """
        self._talk.limit(seconds)
        facts: list[tuple[str, str]] = []
        while True:
            nonce, _, message = self._talk.line("booting").partition(" ")
            word, _, rest = message.partition(" ")
            if nonce == self._nonce and word == "ready":
                return Introduction(tuple(facts))
            if nonce == self._nonce and word == "fact":
                name, _, value = rest.partition("=")
                facts.append((name, value))

    def done(self, step: Step, number: int, scratch: Path, tell: Tell) -> Done:
        """How a step ended; what it printed goes into ``scratch`` too.

        Raises ``GuestOutOfMemory`` when the kernel killed for want of memory, ``GuestFailed`` when the step printed
        without end or what came makes no sense, and what the conversation does.
        """
        name, talk = name_of(step, number), self._talk
        talk.limit(_PAUSE_SECONDS)
        self._message(f"preparing {name}", "began", number)
        self._clocks.begin(time.monotonic())
        tell(f"running {name}")
        talk.limit(step.seconds)
        ended = _Ended.read(self._message(f"running {name}", "done", number), name)
        self._clocks.check(ended, time.monotonic())
        output, errors = scratch / f"step-{number}.output", scratch / f"step-{number}.errors"
        for count, kept in ((ended.output, output), (ended.errors, errors)):
            talk.limit(_PAUSE_SECONDS + count / _SLOWEST_BYTES)
            kept.write_bytes(talk.take(count, f"sending what {name} printed"))
        ended.check(name, output)
        return Done(step, ended.status, read_output(output), read_output(errors), ended.seconds)

    def _message(self, doing: str, word: str, number: int) -> list[str]:
        """The rest of the message that has to come next."""
        line = self._talk.line(doing)
        words = line.split()
        if words[:3] != [self._nonce, word, str(number)]:
            raise GuestFailed(f"the machine said {line[:80]!r} while {doing}; a step may write to no serial port")
        return words[3:]


@dataclass(frozen=True, slots=True)
class _Ended:
    """The message at the end of a step; ``output`` and ``errors`` are in bytes."""

    status: int
    began: float
    ended: float
    starved: int
    output: int
    errors: int

    @classmethod
    def read(cls, words: Sequence[str], name: str) -> _Ended:
        """The words behind the step's number. A shell may write a decimal comma."""
        try:
            status, began, ended, starved, output, errors = words
            first, last = float(began.replace(",", ".")), float(ended.replace(",", "."))
            return cls(int(status), first, last, int(starved), int(output), int(errors))
        except ValueError as error:
            raise GuestFailed(f"the machine's message about {name} makes no sense ({' '.join(words)[:80]})") from error

    @property
    def seconds(self) -> float:
        """How long the step took by the machine's clock."""
        return max(0.0, self.ended - self.began)

    def check(self, name: str, kept: Path) -> None:
        """Raise what makes the step worthless."""
        if max(self.output, self.errors) > MOST_BYTES:
            raise GuestFailed(f"{name} printed more than {MOST_BYTES >> 20} MiB; its beginning is in {kept}")
        if self.starved and self.status:
            raise GuestOutOfMemory(
                f"{name} ended with status {self.status} while the kernel killed for want of memory; give the machine "
                f"more, or the step less to do; what it printed is in {kept}"
            )


class _Clocks:
    """The machine's clock against ours, from the first step on: whoever measures by a wrong one measures nothing."""

    def __init__(self) -> None:
        self._here: float | None = None
        self._there: float | None = None

    def begin(self, now: float) -> None:
        """A step begins."""
        self._here = now if self._here is None else self._here

    def check(self, ended: _Ended, now: float) -> None:
        """Raises ``GuestFailed`` when one clock ran far from the other, over a time long enough to tell."""
        self._there = ended.began if self._there is None else self._there
        here, there = now - (self._here or now), ended.ended - self._there
        if abs(here - there) > _CLOCK_SECONDS + _CLOCK_SHARE * here:
            raise GuestFailed(
                f"{there:.1f} s passed on the machine's clock in {here:.1f} s: its times are wrong; run it again"
            )
