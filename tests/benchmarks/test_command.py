# SPDX-License-Identifier: GPL-2.0-or-later
"""A command of the user: what is run, which number is taken, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.running import measured

from linesmith.analyzer.base.errors import BenchmarkNonsense, BenchmarkUnknown
from linesmith.analyzer.model import Better, Done, Metric, Setting, Step
from linesmith.plugins.registry import benchmark

COMMAND = benchmark("command")


def parsed(output: str, errors: str = "", /, **settings: Setting) -> dict[str, float]:
    """What the benchmark reads in an output; dots of names are written as underscores."""
    done = Done(Step(("prog",)), 0, output, errors, 0.25)
    given = {name.replace("_", "."): value for name, value in settings.items()}
    return dict(COMMAND.parse({"run": "prog", **given}, [done]))


def test_a_command_of_this_machine_is_run(scratch: Path) -> None:
    settings: dict[str, Setting] = {
        "run": "sh -c 'cat /dev/null; echo $RATE of {threads}'",
        "prepare": "sh -c 'echo 99'",
        "environment": ("RATE=12.5",),
        "pattern.rate": "(.+) of",
        "pattern.threads": "of (.+)",
        "better.rate": "higher",
    }
    assert measured("command", settings, 2, scratch) == {"rate": 12.5, "threads": 2.0}


def test_preparations_come_first_and_are_silent(scratch: Path) -> None:
    *before, last = COMMAND.steps({"run": "prog -t{threads} {vmlinux}", "prepare": ("a 'b c'", "d")}, 4, scratch)
    assert [(step.command, step.silent) for step in before] == [(("a", "b c"), True), (("d",), True)]
    assert (last.command, last.silent) == (("prog", "-t4", "{vmlinux}"), False)


@pytest.mark.parametrize(
    ("output", "value"),
    [
        ("7\n", 7.0),
        ("took 12.5ms\n", 12.5),
        ("time: 3.25 s, 88%\n", 88.0),
        ("a=1;b=2\n", 2.0),
        ("1,234,567.5 ops\n", 1234567.5),
        ("1e3\n", 1000.0),
        ("0.25.\n", 0.25),
        ("12 of 0x7f\n", 12.0),
        ("version 6.1.0\n5\nbye\n", 5.0),
    ],
)
def test_without_a_pattern_it_is_the_last_number(output: str, value: float) -> None:
    assert parsed(output) == {"value": value}


def test_a_number_on_standard_error_counts_where_there_is_no_other() -> None:
    assert parsed("done\n", "real 0.75\n") == {"value": 0.75}
    assert parsed("12\n", "3 warnings\n") == {"value": 12.0}


def test_commands_run_on_the_cpus_given() -> None:
    steps = COMMAND.steps({"run": "a", "prepare": "b", "cpus": "8, 0-2"}, 1, Path())
    assert [step.cpus for step in steps] == [(0, 1, 2, 8)] * 2


def test_of_several_matches_the_last_counts() -> None:
    assert parsed("n=2\nn=3\nn=4\n", pattern=r"^n=(\d+)$") == {"value": 4.0}


def test_metrics_are_described_as_the_settings_say() -> None:
    settings: dict[str, Setting] = {
        "run": "prog",
        "pattern.misses": "m=(.)",
        "pattern.rate": "r=(.)",
        "better.rate": "higher",
        "unit.rate": "ops/s",
        "wall": True,
    }
    assert COMMAND.metrics(settings) == (
        Metric("misses", "", Better.LOWER),
        Metric("rate", "ops/s", Better.HIGHER),
        Metric("seconds", "s", Better.LOWER),
    )


def test_wall_time_alone_needs_no_number() -> None:
    assert parsed("no number", wall=True) == {"seconds": 0.25}


@pytest.mark.parametrize(
    ("output", "settings", "words"),
    [
        ("nothing here\n", {}, "it has no number; its last lines: nothing here"),
        ("score: nan\n", {}, "value is 'nan', which is not a number"),
        ("5 then -inf\n", {}, "value is '-inf', which is not a number"),
        ("0\n", {}, "value is 0, which is out of range"),
        ("-3\n", {}, "value is -3, which is out of range"),
        ("1e400\n", {}, "value is inf, which is out of range"),
        ("12,5\n", {"pattern": r"(\S+)"}, "value is '12,5', which is not a number"),
        ("1_000\n", {"pattern": r"(\S+)"}, "value is '1_000', which is not a number"),
        ("x=٣\n", {"pattern": r"x=(\S+)"}, "value is '٣', which is not a number"),
        ("ten\n", {"pattern": r"n=(\d+)"}, r"nothing in it matches 'n=\\\\(\\\\d\+\\\\)'; its last lines: ten"),
    ],
)
def test_nonsense_is_told(output: str, settings: dict[str, Setting], words: str) -> None:
    with pytest.raises(BenchmarkNonsense, match=words.replace(r"\\\\(", r"\(").replace(r"\\\\)", r"\)")):
        parsed(output, **settings)


def test_the_last_lines_are_cut_and_harmless() -> None:
    with pytest.raises(BenchmarkNonsense) as caught:
        parsed("\x1b]0;title\x07" + "x" * 100_000 + "\n\u202egnirts\n")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


def test_a_pattern_that_takes_forever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linesmith.plugins.benchmarks.command._SEARCH_SECONDS", 1)
    with pytest.raises(BenchmarkNonsense, match="within 1 s; write it with fewer repetitions in repetitions"):
        parsed("a" * 40 + "\n", pattern=r"(a+)+(?P<value>$.)")


def test_a_huge_output_is_searched_from_its_end() -> None:
    assert parsed("n=1\n" + "x" * (2 << 20) + "\nm=2\n", pattern=r"(\d)") == {"value": 2.0}
    with pytest.raises(BenchmarkNonsense, match="nothing in it matches"):
        parsed("n=1\n" + "x" * (2 << 20) + "\n", pattern=r"n=(\d)")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "the benchmark command: it needs the setting `run`"),
        ({"run": "  "}, "'  ' is not a command line; give a program and its words"),
        ({"run": "a 'b"}, "No closing quotation"),
        ({"run": "a", "pattern": "("}, "is not a Python regular expression: missing \\)"),
        ({"run": "a", "pattern": "n=.*"}, r"has no group for the number; put \(\?P<value>...\) around it"),
        ({"run": "a", "pattern": "(a)(b)"}, "has no group for the number"),
        ({"run": "a", "better": "more"}, "cannot take better = 'more': "),
        ({"run": "a", "unit.rate": "s"}, r"there is no pattern\.rate"),
        ({"run": "a", "pattern.a b": "(a)"}, "a metric cannot be called 'a b'"),
        ({"run": "a", "pattern.seconds": "(a)", "wall": True}, "there are two metrics seconds"),
        ({"run": "a", "environment": "NAME"}, "other texts than NAME=VALUE"),
        ({"run": "a", "limit": 0}, "the benchmark command cannot take limit = 0: expected `int` >= 1"),
        ({"run": "a", "cpus": "3-1"}, "cpus = '3-1' are no CPUs; give them as in \"0-3,8\""),
        ({"run": "a", "cpus": "all"}, "are no CPUs"),
        ({"run": "a", "patern": "(a)"}, r"the benchmark command has no setting 'patern' \(did you mean pattern\?\)"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Setting], words: str) -> None:
    with pytest.raises(BenchmarkUnknown, match=words):
        COMMAND.metrics(settings)
