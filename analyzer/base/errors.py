# SPDX-License-Identifier: GPL-2.0-or-later
"""Errors a user can meet, one class per kind; each message says what is wrong, where, and what to do next.

Besides them the time limit that ends in one: what a command spends on text that it does not trust, so that no text
holds a CI job up. Every reader of such text is linear, and each child process has a limit of its own; this is the limit
for all of it together. It interrupts the main thread with a signal (SIGALRM, setitimer(2)), wherever that is.
"""

from __future__ import annotations

import shlex
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linesmith.analyzer.model import Refusal

# Unless the user sets it.
DEADLINE_SECONDS = 300


class LinesmithError(Exception):
    """Base of every expected failure; the command line prints the message and exits with 2."""


class ElfError(LinesmithError):
    """The file is no ELF object, is cut off, or is damaged."""


class DebugInfoMissing(LinesmithError):
    """The ELF file is sound but carries neither DWARF nor BTF, nor can its debug file be found."""


class DebugInfoDamaged(LinesmithError):
    """DWARF or BTF is present but breaks its own rules."""


class TypeNotFound(LinesmithError):
    """No record of that name, or no such member in it; the message offers the nearest names."""


class FunctionNotFound(LinesmithError):
    """No function of that name, or no known code at an address; the message offers the nearest names."""


class CodeMissing(LinesmithError):
    """The file holds no code for a machine that can be decoded."""


class ProfileError(LinesmithError):
    """The text is no profile that any reader knows, names no members, or is of another build than the ELF file."""


class NothingToSuggest(LinesmithError):
    """There is nothing to do, and the message says why and what else helps: of a command an answer, not a failure."""


class CandidateUnknown(LinesmithError):
    """No candidate has that number or name, or several have it."""


class TreeError(LinesmithError):
    """The source tree is not there, not a tree, or not configured."""


class DeclarationNotFound(LinesmithError):
    """The tree does not declare the record where DWARF says, nor anywhere near."""


class EditRefused(LinesmithError):
    """The declaration cannot be edited as asked; ``refusal`` says where, why, and what would lift it."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal)
        self.refusal = refusal


class ScanFailed(LinesmithError):
    """The sources of a build cannot be scanned: there is no compilation database, or no unit of it can be parsed."""


class SnapshotError(LinesmithError):
    """The memory is no ELF dump, is cut off, or is another kernel's."""


class ConstraintsError(LinesmithError):
    """A file with facts of the source is no TOML, says what none can be, or names what the ELF file does not have."""


class SlabFactsError(LinesmithError):
    """What is given as /sys/kernel/slab cannot be read, or describes no cache."""


class ToolMissing(LinesmithError):
    """A program that a stage needs is not installed; the message names the package."""


class VerificationFailed(LinesmithError):
    """The patched source does not compile, or compiles to another layout than the candidate's."""


class CommandTimedOut(VerificationFailed):
    """A command that a verification needs did not end in its time, and was stopped."""


class DeadlinePassed(Exception):
    """The time for text that is not trusted is over before all of it was judged; a finding, with exit status 1.

    It is no ``LinesmithError``: where one step may fail and the next begins, the deadline still ends the command.
    """


class WorkStopped(Exception):
    """A thread's child was ended because nobody waits for its result any more; what waited for it is at its end."""


class SemanticPatchFailed(LinesmithError):
    """Coccinelle does not take the rules of a semantic patch."""


class OutputError(LinesmithError):
    """The result cannot be written where the user asked."""


class CacheError(LinesmithError):
    """The cache directory cannot be used: others can write to it, it is another user's, or it cannot be made."""


class TraceError(LinesmithError):
    """The trace cannot be read, is cut off, damaged, or of another version."""


class NotSimulated(LinesmithError):
    """A candidate cannot be simulated on the trace at hand; the message says why."""


class StructureRefused(LinesmithError):
    """The members of a record cannot be changed as asked; the message says why."""


class KernelNotBootable(LinesmithError):
    """The file is no kernel image that QEMU can boot."""


class GuestFailed(LinesmithError):
    """The guest panicked, hung, ended early, or could not run the command; the message has its last lines."""


class NotRecorded(LinesmithError):
    """There is no recording, or it is cut off, empty, or of another build; the message says what to do."""


class GuestNotBooted(GuestFailed):
    """The kernel never came as far as its first program."""


class GuestPanicked(GuestFailed):
    """The kernel died of a panic or an oops; the message has what it printed."""


class GuestHung(GuestFailed):
    """Nothing came from the machine in the time it was given."""


class GuestOutOfMemory(GuestFailed):
    """The kernel killed a process, or itself, for want of memory."""


class PatchRefused(LinesmithError):
    """A patch does not apply to the tree it is for."""


class BuildFailed(LinesmithError):
    """The build ended with an error; the message has its first complaint and the log."""


class CompilerKilled(BuildFailed):
    """A program of the build was killed by a signal, most often for want of memory."""


class DiskFull(LinesmithError):
    """There is no room left where something had to be written."""


class BenchmarkUnknown(LinesmithError):
    """No benchmark of that name, or its settings make no sense."""


class BenchmarkFailed(LinesmithError):
    """A command of a benchmark ended with an error."""


class BenchmarkNonsense(LinesmithError):
    """The output of a benchmark holds no sound number where there should be one."""


class PlanError(LinesmithError):
    """The file that describes what to tune or to benchmark cannot be read or contradicts itself."""


class BaselineFailed(LinesmithError):
    """The tree as it is does not build, boot or run, so that there is nothing to compare with."""


class JournalError(LinesmithError):
    """The run directory is another run's, in use, or damaged."""


class ExecutorFailed(LinesmithError):
    """The workers cannot be reached or cannot do what is asked of them."""


class WorkerLost(ExecutorFailed):
    """One worker after the other was lost with the same task."""


class IntentError(LinesmithError):
    """A file with intents is no TOML, says what none can be, or asks for what no such file may; the place is named."""


class BaselineError(LinesmithError):
    """A baseline of accepted violations cannot be read or is of another version."""


class RuleUnknown(LinesmithError):
    """No lint rule has that name; the message offers the name that is near, or says what lists them."""


class ConfigurationError(LinesmithError):
    """A file with settings is no TOML, or sets what cannot be set there; the place is named."""


def install_command(extra: str) -> str:
    """What a shell runs to install an extra of ours, by the Python that runs: another pip would put it elsewhere."""
    return f"{shlex.quote(sys.executable)} -m pip install 'linesmith[{extra}]'"


class Deadline:
    """``seconds`` of wall time, of which only the time inside ``running`` blocks counts."""

    def __init__(self, seconds: float = DEADLINE_SECONDS) -> None:
        self.seconds = seconds
        self.left = seconds
        self._began = 0.0

    def anew(self) -> Deadline:
        """As much time once more, for work that the user asked for by its own name."""
        return Deadline(self.seconds)

    def remaining(self) -> float:
        """The seconds that are left now; other threads may ask while a block runs."""
        return max(self.left - (time.monotonic() - self._began if self._began else 0.0), 0.0)

    @property
    def passed(self) -> str:
        """Why something was left out, as a clause."""
        return f"the time limit of {self.seconds:g} s was reached; raise --deadline"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time of the block against the deadline; raises ``DeadlinePassed`` in it, or before it begins.

        Only the main thread may enter it; a block in another one of the same deadline is a part of it.
        """
        if self.left <= 0:
            raise self.error()
        if self._began:
            yield
            return
        self._began = time.monotonic()
        former = signal.signal(signal.SIGALRM, self._interrupt)
        signal.setitimer(signal.ITIMER_REAL, self.left)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, former)
            self.left = self.remaining()
            self._began = 0.0

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self.left, self._began = 0.0, 0.0
        raise self.error()

    def error(self) -> DeadlinePassed:
        """What is raised where the time is over and nothing was judged."""
        return DeadlinePassed(
            f"reading and compiling the sources took longer than {self.seconds:g} s, so nothing was checked; review"
            " the change by hand, or raise --deadline"
        )
