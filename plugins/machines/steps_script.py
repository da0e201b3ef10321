# SPDX-License-Identifier: GPL-2.0-or-later
"""A script for any POSIX shell that runs steps and reports them over descriptor 3, in a guest or on another host.

It needs busybox, or coreutils, grep, sed and util-linux. Its messages are lines that begin with a word that only the
two sides know, so that nothing else that comes this way is taken for one. In this order: ``fact NAME=VALUE``
several times, ``ready``; for each step ``began N`` and ``done N STATUS BEGAN ENDED STARVED OUTPUT ERRORS``; ``end``.
Times are in seconds, ``STARVED`` counts processes that the kernel killed for want of memory, ``OUTPUT`` and ``ERRORS``
are numbers of bytes: so many follow the line, first of standard output, then of standard error, whatever they hold.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from linesmith.analyzer.model import Step
from linesmith.plugins.machines.output import MOST_BYTES
from linesmith.plugins.machines.step_words import cpu_list

# Everything that a step begins inherits this variable, and is known by it.
MARK = "LINESMITH_STEP"

# The time is told by the shell itself where it can, to the microsecond; a clock of 10 ms is the last resort.
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


def functions_script() -> str:
    """What ``steps_script`` needs; ``sweep`` ends what is left of the step that runs.

    The caller sets ``b`` (what goes before the name of a tool: a busybox, or nothing), ``place`` (an empty folder),
    ``nonce`` (the word that messages begin with), ``mark`` (``MARK=`` and a value of its own), and opens descriptor 3.
    """
    return f"{_STAMP}{_RUN.replace('MOST', str(MOST_BYTES + 1))}"


def steps_script(steps: Sequence[tuple[Step, tuple[str, ...]]], launch: str) -> str:
    """Runs steps with their words; the file ``launch`` has ``launch_script``."""
    calls = (f"step {number} {_call(*step, launch)}\n" for number, step in enumerate(steps, 1))
    return f"{_INTRODUCE}{''.join(calls)}say end\n"


def _call(step: Step, words: tuple[str, ...], launch: str) -> str:
    environment = shlex.join(f"{name}={value}" for name, value in step.environment)
    pinned = f"$b taskset -c {cpu_list(step.cpus)} " if step.cpus else ""
    return f'$b env "$mark" {environment} {pinned}$b sh {shlex.quote(launch)} "$b" "$place" {shlex.join(words)}'
