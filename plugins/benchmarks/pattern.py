# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds what a user's pattern matches, in a process of its own: a pattern can take longer than anybody waits.

The module ``re`` cannot be interrupted in its thread, and some patterns take time exponential in the length of a line.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

from linesmith.analyzer.errors import BenchmarkNonsense, BenchmarkUnknown
from linesmith.plugins.benchmarks.outcome import last_lines
from linesmith.plugins.benchmarks.settings import shown

GROUP = "value"
_CPU_SECONDS = 10
# Where others keep the CPUs busy, the same takes longer.
_WALL_SECONDS = 120
# Read with this module, so that an upgrade of the package in the middle of a run changes nothing.
_SEARCHER = Path(__file__).with_name("searcher.py").read_text("utf-8")


def checked(benchmark: str, pattern: str) -> str:
    """``pattern``, if it is a regular expression with a group ``value`` or exactly one; raises ``BenchmarkUnknown``."""
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        raise BenchmarkUnknown(
            f"the pattern {shown(pattern)} of the benchmark {benchmark} is no regular expression of Python: {error}"
        ) from error
    if GROUP not in compiled.groupindex and compiled.groups != 1:
        raise BenchmarkUnknown(
            f"the pattern {shown(pattern)} of the benchmark {benchmark} does not say where the number is: "
            f"put (?P<{GROUP}>...) around it"
        )
    return pattern


def matches(benchmark: str, pattern: str, text: str) -> tuple[str, ...]:
    """What the group matches in ``text``, in order.

    Raises ``BenchmarkNonsense`` when the search takes too long.
    """
    question = {"pattern": pattern, "group": GROUP, "text": text}
    command = (sys.executable, "-I", "-S", "-c", _SEARCHER, str(_CPU_SECONDS))
    try:
        answer = subprocess.run(
            command, input=json.dumps(question).encode(), capture_output=True, timeout=_WALL_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise _too_slow(benchmark, pattern, text) from error
    if answer.returncode == -signal.SIGXCPU:
        raise _too_slow(benchmark, pattern, text)
    if answer.returncode != 0:
        raise BenchmarkNonsense(
            f"the search for the pattern {shown(pattern)} of the benchmark {benchmark} ended with status "
            f"{answer.returncode} in an output of {len(text)} characters{last_lines(answer.stderr.decode())}"
        )
    return tuple(json.loads(answer.stdout))


def _too_slow(benchmark: str, pattern: str, text: str) -> BenchmarkNonsense:
    return BenchmarkNonsense(
        f"the pattern {shown(pattern)} of the benchmark {benchmark} is not found within {_CPU_SECONDS} s in an output "
        f"of {len(text)} characters; write it with fewer repetitions in repetitions"
    )
