# SPDX-License-Identifier: GPL-2.0-or-later
"""The pipeline on the example program, one chapter after the other, from its layout to the race of both versions.

Both versions run in turns on the same CPUs; the judge of ``bench`` and ``tune`` says what the figures allow to say.
The program runs on one CPU of each core where there are two cores. Its profile is recorded where something can record,
else it is the one that was written for it.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from importlib.resources import as_file, files
from pathlib import Path
from statistics import fmean

from linesmith.analyzer.base import child
from linesmith.analyzer.base.child import Command, run
from linesmith.analyzer.base.errors import LinesmithError, NothingToSuggest, ToolMissing, VerificationFailed
from linesmith.analyzer.model import (
    Better,
    Emulation,
    Metric,
    Order,
    Patch,
    Profile,
    Recorded,
    Rules,
    Sample,
    Use,
    VerdictKind,
)
from linesmith.analyzer.report import hot, pahole, suggest
from linesmith.analyzer.report.candidate import Suggested
from linesmith.analyzer.report.findings import ProfileSection
from linesmith.patches.edit.patch import confirm, file_text, patch_of
from linesmith.patches.source.tree import Tree
from linesmith.plugins.api import Recorder
from linesmith.plugins.profiles.formats import encode
from linesmith.tuner.judge.verdict import compare
from linesmith.tuner.replay.replayer import place_of_trace, with_trace

TYPE = "session_index"
APPLY_SECONDS = 60
ROUNDS = 20
MILLISECONDS = 150
RUN_SECONDS = 60
_METRICS = tuple(Metric(name, "per second", Better.HIGHER) for name in ("lookups_per_second", "renewals_per_second"))
_RACE = Use("race")
_MILLION = 1e6
_ANSWERS = {
    VerdictKind.BETTER: "The change helps lookups here: {ratio:.2f} times as many per second.",
    VerdictKind.WORSE: "The change does not help lookups here: only {ratio:.2f} times as many per second.",
    VerdictKind.NO_DIFFERENCE: "No difference in lookups per second.",
    VerdictKind.TOO_NOISY: "Whether it helps lookups is open: the runs differ too much; try again on an idle machine.",
}
PROFILE = "bench.c2c"
SOURCES = ("guard.c", "session_index.c", "bench.c")
FLAGS = ("-std=c11", "-O2", "-g", "-Wall", "-Wextra", "-pthread")
COMPILERS = ("cc", "gcc", "clang")
COMPILE_SECONDS = 60
TOPOLOGY = Path("/sys/devices/system/cpu")
MOST_CPUS = 8
PROFILED_MILLISECONDS = 400
RECORD_SECONDS = 60
_RECORDED = "recorded.profile"
_SAMPLES = "perf"  # which has no trace
_PATCH = "example.patch"
_NEXT = """\
next: linesmith record -o profile -- ./program   # your own program, built with -g
      linesmith hot ./program profile            # then what it prints as next
"""
_WRITTEN = """\
{profile} is in the form of a perf c2c report. Its figures were written for this example, not recorded: \
{reasons}.

"""
_RECORDED_HERE = """\
$ linesmith record --on {on} --ring user --interleave turns -o {profile} -- {command}

"""


@dataclass(frozen=True, slots=True)
class Workshop:
    """A scratch directory with the example's sources, compiled as they come."""

    directory: Path
    compiler: str

    @property
    def before(self) -> Path:
        """Sources and executable as they come."""
        return self.directory / "before"

    @property
    def after(self) -> Path:
        """The copy that the patch is applied to."""
        return self.directory / "after"


@dataclass(frozen=True, slots=True)
class Chapter:
    """A heading with its text; ``is_diff`` marks text whose lines begin with plus and minus."""

    title: str
    text: str
    is_diff: bool = False


def open_workshop(directory: Path) -> Workshop:
    """Unpack the example and compile it; raises ``ToolMissing`` without a compiler."""
    workshop = Workshop(directory, find_compiler())
    unpack(workshop.before)
    build(workshop.before, workshop.compiler)
    return workshop


def chapters(workshop: Workshop, about: str, profile: Profile, suggested: Suggested) -> Iterator[Chapter]:
    """Everything after the search for a change; each chapter is made when it is asked for.

    ``about`` says where the profile comes from. Raises ``NothingToSuggest``, ``EditRefused``, ``VerificationFailed`` or
    ``ToolMissing``.
    """
    layouts, section = suggested.layouts, ProfileSection(profile, 1, 1)
    yield Chapter("A small program", _the_program(workshop.compiler))
    of = f"bench {profile.source}"
    yield Chapter(
        "Its layout", f"$ linesmith layout bench {TYPE}\n\n{pahole.render_text(layouts.variants(TYPE), layouts)}"
    )
    suggested = replace(suggested, given=("bench", profile.source))
    table = hot.render_table(suggested.records, suggested.elf, section, ("linesmith", "suggest", *suggested.given))
    yield Chapter("What a profile shows", f"{about}$ linesmith hot {of}\n\n{table}")
    yield Chapter("The smallest change", f"$ linesmith suggest {of}\n\n{suggest.render_text(suggested)}")
    first = next((line for line in suggested.lines if line.candidates), None)
    if first is None:
        raise NothingToSuggest("nothing to patch: the profile shows no members that are better apart; run it again")
    tree = Tree(workshop.before, cflags=" ".join(FLAGS))
    candidate = first.candidates[0]
    patch = patch_of(candidate, first.finding, tree, 1, confirm(candidate, tree, lambda _: None))
    command = f"$ linesmith patch {of} --tree . --cflags='{' '.join(FLAGS)}' -o {_PATCH}"
    applied = f"$ patch -p1 < {_PATCH} && {' '.join(compile_command(workshop.compiler))}"
    yield Chapter("The patch", f"{command}\n\n{patch.diff}\nVerified: {patch.verified}\n\n{applied}\n", is_diff=True)
    _apply(patch, workshop)
    choice = here()
    yield Chapter("Before and after, on this machine", _announcement(choice))
    yield Chapter("", race_text(race(workshop.before / "bench", workshop.after / "bench", choice), choice))
    yield Chapter("", _NEXT)


def _the_program(compiler: str) -> str:
    return f"""\
A server keeps sessions in a search tree. Many threads look sessions up without a lock; one thread
renews sessions, each time under the lock of the tree. Readers load `leftmost`, then `root`; the
writer takes `guard`, on the same cache line. After each of its stores a reader's first load misses.

$ {" ".join(compile_command(compiler))}
"""


def _announcement(choice: CpuChoice) -> str:
    cpus = ", ".join(map(str, sorted(set(choice.cpus))))
    seconds = 2 * ROUNDS * MILLISECONDS / 1000
    # Other work that runs already blurs the figures.
    load = os.getloadavg()[0]
    busy = f"Other work is running (load average {load:.1f}), which adds noise.\n" if load >= 1 else ""
    return f"""\
$ ./bench {MILLISECONDS} {" ".join(map(str, choice.cpus))}

Both versions now run in turns, {ROUNDS} times each, {seconds:.0f} s in all, one thread renewing and \
{len(choice.cpus) - 1} looking up.
CPUs used: {choice.count} ({cpus}); {choice.placement.value}.
{busy}"""


def _apply(patch: Patch, workshop: Workshop) -> None:
    """Apply the patch to a copy of the sources and compile that."""
    shutil.copytree(workshop.before, workshop.after)
    file = workshop.directory / _PATCH
    file.write_bytes(file_text(patch))
    argv = ("patch", "--strip=1", "--batch", f"--input={file}")
    ended = child.run(child.Command(argv, workshop.after, APPLY_SECONDS))
    if ended.status != 0:
        raise VerificationFailed(f"the patch of the example does not apply: {ended.output.strip()}")
    build(workshop.after, workshop.compiler)


# The race.


def race(before: Path, after: Path, choice: CpuChoice) -> tuple[Sample, ...]:
    """Run both executables in turns, ``ROUNDS`` times each; who begins changes from round to round.

    Raises ``VerificationFailed`` when a run fails or hangs.
    """
    samples = []
    for number in range(ROUNDS):
        sides = (("before", before), ("after", after))
        for name, executable in sides if number % 2 == 0 else reversed(sides):
            figures = _run(executable, choice)
            samples += [
                Sample(name, _RACE.label, one.name, choice.count, figures[one.name], number, 0) for one in _METRICS
            ]
    return tuple(samples)


def _run(executable: Path, choice: CpuChoice) -> dict[str, float]:
    """The figures of one run, with one thread per CPU of the choice, by their names."""
    argv = (str(executable), str(MILLISECONDS), *map(str, choice.cpus))
    try:
        ended = child.run(child.Command(argv, executable.parent, RUN_SECONDS))
    except ToolMissing as error:
        raise VerificationFailed(f"{executable} cannot be run; set TMPDIR to a directory without noexec") from error
    if ended.status != 0:
        raise VerificationFailed(f"the example program ended with status {ended.status}: {ended.output.strip()}")
    return {name: float(value) for name, value in map(str.split, ended.output.splitlines())}


def race_text(samples: Sequence[Sample], choice: CpuChoice) -> str:
    """A table of both operations, means in millions per second with minimum and maximum, and the answer."""
    rules = Rules(confidence=0.95)
    found = [compare(samples, one, _RACE, choice.count, "before", "after", rules) for one in _METRICS]
    rows = [f"{'million per second':<20}{'before':^24}{'after':^24}{'after / before':^22}".rstrip()]
    for one in found:
        ratio, operation = f"{one.ratio:.2f} ({one.low:.2f} … {one.high:.2f})", one.metric.name.partition("_")[0]
        means = f"{_spread(one.base):^24}{_spread(one.head):^24}"
        rows.append(f"{operation:<20}{means}{ratio:^22}{one.verdict.value}")
    rows += [
        "",
        f"Means of {found[0].blocks} runs (lowest … highest); ratios of neighbouring runs (95 % interval).",
        _ANSWERS[found[0].verdict].format(ratio=found[0].ratio),
    ]
    if choice.placement is not ThreadPlacement.CORES:
        rows.append(f"Note: {choice.placement.value}.")
    return "\n".join(rows) + "\n"


def _spread(values: Sequence[float]) -> str:
    low, middle, high = (value / _MILLION for value in (min(values), fmean(values), max(values)))
    return f"{middle:.1f} ({low:.1f} … {high:.1f})"


def unpack(directory: Path) -> Path:
    """Copy the sources and the profile into ``directory``, which must not exist yet; returns it."""
    with as_file(files("linesmith.analyzer") / "demo" / "sources") as origin:
        shutil.copytree(origin, directory)
    return directory


def find_compiler() -> str:
    """Path of a C compiler; raises ``ToolMissing`` where there is none."""
    for name in COMPILERS:
        if found := shutil.which(name):
            return found
    raise ToolMissing("the demo compiles its example program, but no C compiler was found; install the package gcc")


def compile_command(compiler: str) -> list[str]:
    """The command that makes ``bench`` in the directory of the sources."""
    return [compiler, *FLAGS, "-o", "bench", *SOURCES]


def build(directory: Path, compiler: str) -> Path:
    """Compile the sources in ``directory``; returns the executable.

    Raises ``VerificationFailed`` with the compiler's first complaint.
    """
    ended = run(Command(tuple(compile_command(compiler)), directory, COMPILE_SECONDS))
    if ended.status != 0:
        complaint = next((line for line in ended.output.splitlines() if "error" in line), ended.output.strip())
        raise VerificationFailed(f"{compiler} cannot compile the example program: {complaint}")
    return directory / "bench"


class ThreadPlacement(Enum):
    """How the threads lie on the machine; the value is the sentence for it."""

    CORES = "each thread on a core of its own"
    SIBLINGS = (
        "only one core is available, so the threads run on its two siblings; they share the first-level cache and"
        " may show no difference"
    )
    ONE_CPU = "only one CPU is available, so the threads take turns and no cache line moves; no difference can show"


@dataclass(frozen=True, slots=True)
class CpuChoice:
    """CPU numbers, one per thread (a number twice where there is one CPU), and how they lie."""

    cpus: tuple[int, ...]
    placement: ThreadPlacement

    @property
    def count(self) -> int:
        """Different CPUs used."""
        return len(set(self.cpus))


def choose(allowed: Iterable[int], topology: Path = TOPOLOGY) -> CpuChoice:
    """Up to eight of the ``allowed`` CPUs, one of each core; two siblings or one CPU where there is no more.

    Source: ``cpuN/topology/thread_siblings_list`` (Linux, Documentation/admin-guide/cputopology.rst).
    """
    available = sorted(allowed)
    cores: dict[str, int] = {}
    for cpu in available:
        try:
            core = (topology / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text().strip()
        except OSError:
            core = str(cpu)  # where the kernel does not tell
        cores.setdefault(core, cpu)
    if len(cores) > 1:
        return CpuChoice(tuple(cores.values())[:MOST_CPUS], ThreadPlacement.CORES)
    if len(available) > 1:
        return CpuChoice(tuple(available[:2]), ThreadPlacement.SIBLINGS)
    return CpuChoice((available[0], available[0]), ThreadPlacement.ONE_CPU)


def here() -> CpuChoice:
    """The choice among the CPUs this process may run on."""
    return choose(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True)
class DemoProfile:
    """A profile of the example in a file, and the words that say where it comes from."""

    path: Path
    about: str


def gather(directory: Path, scratch: Path, recorders: Sequence[Recorder], choice: CpuChoice) -> DemoProfile:
    """The profile of the first recorder that works on the program in ``directory``, or the written one."""
    command = (str(directory / "bench"), str(PROFILED_MILLISECONDS), *map(str, choice.cpus))
    order = Order(
        command, Emulation(ring="user", interleave="turns"), output=scratch / "printed", seconds=RECORD_SECONDS
    )
    path, obstacles = directory / _RECORDED, []
    for recorder in recorders:
        try:
            if obstacle := recorder.obstacle(order):
                obstacles.append(f"not on {recorder.name}, for {obstacle}")
                continue
            traced = replace(order, trace=place_of_trace(path)) if recorder.name != _SAMPLES else order
            recorded = recorder.record(traced, scratch, lambda _: None)  # too short for news of it
            return _saved(recorded, path, recorder.name, command)
        except LinesmithError as error:
            obstacles.append(f"not on {recorder.name}, for {error}")
    about = _WRITTEN.format(profile=PROFILE, reasons="; ".join(obstacles) or "no recorder is installed")
    return DemoProfile(directory / PROFILE, about)


def _saved(recorded: Recorded, path: Path, on: str, command: tuple[str, ...]) -> DemoProfile:
    shown = ("./bench", *command[1:])
    profile = recorded.profile
    if profile and profile.recording:
        profile = replace(profile, recording=replace(profile.recording, command=shown))
        profile = with_trace(profile, place_of_trace(path))
    path.write_bytes(encode(profile) if profile else recorded.report.encode("utf-8", "surrogateescape"))
    return DemoProfile(path, _RECORDED_HERE.format(on=on, profile=_RECORDED, command=shlex.join(shown)))
