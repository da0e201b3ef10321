# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps on a machine: their words, the script that runs them, and its report, read as it comes and kept in files.

The script is for any POSIX shell, in a guest or on another host. It needs busybox, or coreutils, grep, sed and
util-linux. Its messages, over descriptor 3, are lines that begin with a word that only the two sides know. In this
order: ``fact NAME=VALUE`` several times, ``ready``; for each step ``began N`` and ``done N STATUS BEGAN ENDED STARVED
OUTPUT ERRORS``; ``end``. Times are in seconds, ``STARVED`` counts processes that the kernel killed for want of memory,
``OUTPUT`` and ``ERRORS`` are the bytes of standard output and standard error that follow the line.
"""

from __future__ import annotations

import shlex
import time
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.elf import build_id_in_hex
from linesmith.analyzer.base.errors import GuestFailed, GuestOutOfMemory
from linesmith.analyzer.model import Built, Done, Step
from linesmith.plugins.api import Tell
from linesmith.plugins.machines.talk import Wire

# Of each stream of a step; a benchmark that says more is caught in a loop.
MOST_BYTES = 64 << 20
# For what goes on between two steps, and for what a step printed to come over, at the slowest rate seen.
_PAUSE_SECONDS = 60
_SLOWEST_BYTES = 20_000
# How far two clocks may be apart: by what messages take on a busy host, and by a share of the time.
_CLOCK_SECONDS = 3.0
_CLOCK_SHARE = 0.2
# Everything that a step begins inherits this variable, and is known by it.
MARK = "LINESMITH_STEP"


def words_of(step: Step, built: Built) -> tuple[str, ...]:
    """The step's command with each ``{product}`` replaced by that product's path; other braces stay as they are.

    A program that is named by a relative path is one of where we are: a step runs in a folder of its own.
    """
    places = {f"{{{name}}}": str(path.absolute()) for name, path in built.products}
    whole = step.command
    for name, path in places.items():
        whole = tuple(word.replace(name, path) for word in whole)
    program, *words = whole
    return (str(Path(program).absolute()) if "/" in program else program, *words)


def shown(step: Step, words: tuple[str, ...]) -> str:
    """The words of a step as for a shell, with its environment and the CPUs that it is pinned to."""
    environment = tuple(f"{name}={value}" for name, value in step.environment)
    pinned = ("taskset", "-c", cpu_list(step.cpus)) if step.cpus else ()
    return shlex.join((*(("env", *environment) if environment else ()), *pinned, *words))


def cpu_list(cpus: tuple[int, ...]) -> str:
    """CPUs as taskset(1) takes them."""
    return ",".join(map(str, cpus))


def name_of(step: Step, number: int) -> str:
    """What a message calls a step; steps count from 1."""
    return f"step {number} ({shlex.join(step.command)[:80]})"


def check_cpus(step: Step, number: int, usable: Collection[int]) -> None:
    """Raises ``GuestFailed`` when the step is to run on a CPU that is not there to be used."""
    for cpu in step.cpus:
        if cpu not in usable:
            there = ", ".join(map(str, sorted(usable)))
            raise GuestFailed(f"{name_of(step, number)} is to run on CPU {cpu}, but there are {there}; pin it to those")


def text_of(output: bytes) -> str:
    r"""The bytes as text; those that are no UTF-8 are spelt out (``\xff``), so that it can be written anywhere."""
    return output.decode("utf-8", "backslashreplace")


def read_output(path: Path) -> str:
    """The text in the file of a step's output; empty where the step never came to print."""
    try:
        with path.open("rb") as file:
            return text_of(file.read(MOST_BYTES))
    except FileNotFoundError:
        return ""


@dataclass(frozen=True, slots=True)
class Introduction:
    """What the other side reported of itself before the first step, by name; ``release`` and ``notes``, in hex, too."""

    facts: tuple[tuple[str, str], ...]

    def fact(self, name: str) -> str:
        """The fact of that name; empty without one."""
        return dict(self.facts).get(name, "")

    def described(self) -> tuple[tuple[str, str], ...]:
        """The facts that a reader wants, with the build-id for the notes."""
        facts = (("build-id", self.build_id or ""), *self.facts)
        return tuple((name, value) for name, value in facts if value and name not in ("release", "notes"))

    @property
    def build_id(self) -> str | None:
        """That of the kernel that booted; ``None`` when it does not tell."""
        return build_id_in_hex(self.fact("notes"))


class Transcript:
    """The report of a script whose messages begin with ``nonce``."""

    def __init__(self, talk: Wire, nonce: str) -> None:
        self._talk = talk
        self._nonce = nonce
        # When the first step began: by our clock, and by the machine's.
        self._here: float | None = None
        self._there: float | None = None

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
        self._here = time.monotonic() if self._here is None else self._here
        tell(f"running {name}")
        talk.limit(step.seconds)
        ended = _StepEnd.read(self._message(f"running {name}", "done", number), name)
        self._there = ended.began if self._there is None else self._there
        here, there = time.monotonic() - self._here, ended.ended - self._there
        if abs(here - there) > _CLOCK_SECONDS + _CLOCK_SHARE * here:
            raise GuestFailed(
                f"{there:.1f} s passed on the machine's clock in {here:.1f} s: its clock is wrong; run it again"
            )
        output, errors = scratch / f"step-{number}.output", scratch / f"step-{number}.errors"
        for count, path in ((ended.output, output), (ended.errors, errors)):
            talk.limit(_PAUSE_SECONDS + count / _SLOWEST_BYTES)
            path.write_bytes(talk.take(count, f"sending what {name} printed"))
        ended.check(name, output)
        return Done(step, ended.status, read_output(output), read_output(errors), ended.seconds)

    def _message(self, doing: str, word: str, number: int) -> list[str]:
        """The rest of the message that has to come next."""
        line = self._talk.line(doing)
        words = line.split()
        if words[:3] != [self._nonce, word, str(number)]:
            raise GuestFailed(f"the machine sent {line[:80]!r} while {doing}; a step must not write to a serial port")
        return words[3:]


@dataclass(frozen=True, slots=True)
class _StepEnd:
    """The message at the end of a step; ``output`` and ``errors`` are in bytes."""

    status: int
    began: float
    ended: float
    starved: int
    output: int
    errors: int

    @classmethod
    def read(cls, words: Sequence[str], name: str) -> _StepEnd:
        """The words behind the step's number. A shell may write a decimal comma."""
        try:
            status, began, ended, starved, output, errors = words
            first, last = float(began.replace(",", ".")), float(ended.replace(",", "."))
            return cls(int(status), first, last, int(starved), int(output), int(errors))
        except ValueError as error:
            raise GuestFailed(f"the machine's message about {name} is invalid ({' '.join(words)[:80]})") from error

    @property
    def seconds(self) -> float:
        """How long the step took by the machine's clock."""
        return max(0.0, self.ended - self.began)

    def check(self, name: str, path: Path) -> None:
        """Raise what makes the step worthless."""
        if max(self.output, self.errors) > MOST_BYTES:
            raise GuestFailed(f"{name} printed more than {MOST_BYTES >> 20} MiB; its beginning is in {path}")
        if self.starved and self.status:
            raise GuestOutOfMemory(
                f"{name} ended with status {self.status} while the kernel was out of memory; give the machine more,"
                f" or the step less to do; what it printed is in {path}"
            )


# The time is reported by the shell itself where it can, to the microsecond; a clock of 10 ms is the last resort.
_STAMP = """\
stamp() {
    now=${EPOCHREALTIME:-}
    [ "$now" ] || now=$($b date +%s.%N)
    case $now in *%*) read -r now rest </proc/uptime ;; esac
}
"""

# Becomes the step's program: the last thing before that is to tell the process, which leads its session, and the time.
# Whoever sweeps has removed `alive` first, and so either finds the process or keeps it from going on.
_LAUNCH = """\
b=$1 place=$2
shift 2
cd "$place/work" || exit
stamp
echo "$$ $now" >"$place/began"
[ -e "$place/alive" ] || exit
exec "$@"
"""

# `sweep` looks twice before it believes that nothing is left: a process that just now leaves its session, or becomes
# another program, is seen by neither of the two marks. It complains to nobody: when our side is gone, so is whoever
# reads the complaint, and to write it would be the end.
_RUN = """\
say() { printf '%s\\n' "$nonce $*" >&3; }
fact() { [ ! "$2" ] || say "fact $1=$2"; }
value() { $b sed -n "s/^$1[[:space:]]*:[[:space:]]*//p" "$2" 2>/dev/null | $b head -n 1; }
starved() { echo $(($($b sed -n 's/^oom_kill //p' /proc/vmstat) + 0)); }
sweep() {
    { read -r session rest <"$place/began"; } 2>/dev/null || return
    quiet=0
    for try in 1 2 3 4 5 6 7 8 9 10 11 12; do
        left=$($b grep -slzF "$mark" /proc/[0-9]*/environ)
        for stat in /proc/[0-9]*/stat; do
            { read -r line <"$stat"; } 2>/dev/null || continue
            set -- ${line##*) }
            [ "$4" != "$session" ] || [ "$1" = Z ] || left="$left $stat"
        done
        for one in $left; do
            one=${one#/proc/}
            kill -9 "${one%%/*}" 2>/dev/null
        done
        if [ "$left" ]; then quiet=0; continue; fi
        [ "$quiet" = 0 ] || return
        quiet=1
        $b sleep 0.1 2>/dev/null || $b sleep 1
    done
}
gather() { { $b head -c MOST; $b cat >/dev/null; } <"$place/$1.pipe" >"$place/$1" & }
step() {
    number=$1
    shift
    $b rm -rf "$place/work" "$place/began"
    $b mkdir "$place/work"
    gather output
    reader=$!
    gather errors
    readers="$reader $!"
    before=$(starved)
    say "began $number"
    (exec $b setsid "$@" >"$place/output.pipe" 2>"$place/errors.pipe" </dev/null 3>&-)
    status=$?
    stamp
    ended=$now
    sweep
    wait $readers
    read -r session began <"$place/began" || began=$ended
    sizes="$(($($b wc -c <"$place/output"))) $(($($b wc -c <"$place/errors")))"
    say "done $number $status $began $ended $(($(starved) - before)) $sizes"
    $b cat "$place/output" "$place/errors" >&3
}
"""

_INTRODUCE = """\
fact release "$($b uname -r)"
fact notes "$($b od -An -v -tx1 /sys/kernel/notes 2>/dev/null | $b tr -d ' \\n')"
fact cpu "$(value 'model name' /proc/cpuinfo)"
fact cpus "$($b cat /sys/devices/system/cpu/online 2>/dev/null)"
fact nodes "$($b cat /sys/devices/system/node/online 2>/dev/null)"
fact smt "$($b sed 's/^0/off/;s/^1/on/' /sys/devices/system/cpu/smt/active 2>/dev/null)"
fact governor "$($b cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor 2>/dev/null)"
fact memory "$(value MemTotal /proc/meminfo)"
fact 'load before' "$($b cut -d ' ' -f 1-3 /proc/loadavg)"
$b mkfifo "$place/output.pipe" "$place/errors.pipe"
: >"$place/alive"
say ready
"""


def launch_script() -> str:
    """What turns into a step's program; it is called with ``b``, the folder, and the words of the step."""
    return f"{_STAMP}{_LAUNCH}"


def functions_script(place: str, nonce: str) -> str:
    """What ``steps_script`` needs; ``sweep`` ends what is left of the step that runs.

    ``place`` is an empty folder, as the shell has it, ``nonce`` the word that messages begin with. The caller sets
    ``b`` (what goes before the name of a tool: a busybox, or nothing) and opens descriptor 3.
    """
    variables = f"place={place} nonce={nonce} mark={MARK}={uuid.uuid4()}\n"
    return f"{variables}{_STAMP}{_RUN.replace('MOST', str(MOST_BYTES + 1))}"


def steps_script(steps: Sequence[tuple[Step, tuple[str, ...]]], launch: str) -> str:
    """Runs steps with their words; the file ``launch`` has ``launch_script``."""
    calls = []
    for number, (step, words) in enumerate(steps, 1):
        environment = shlex.join(f"{name}={value}" for name, value in step.environment)
        pinned = f"$b taskset -c {cpu_list(step.cpus)} " if step.cpus else ""
        program = f'$b sh {shlex.quote(launch)} "$b" "$place" {shlex.join(words)}'
        calls.append(f'step {number} $b env "$mark" {environment} {pinned}{program}\n')
    return f"{_INTRODUCE}{''.join(calls)}say end\n"
