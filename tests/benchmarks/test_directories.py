# SPDX-License-Identifier: GPL-2.0-or-later
"""UnixBench and will-it-scale, from folders with small programs that print what theirs do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from benchmarks.running import measured

from linesmith.analyzer.base.errors import BenchmarkFailed, BenchmarkNonsense, BenchmarkUnknown
from linesmith.analyzer.model import Done, Setting, Step
from linesmith.plugins.registry import benchmark

# Counts how often its command ends well within the time.
LOOPER = """\
#!/bin/sh
seconds=$1 done=0
shift
end=$(($(date +%s) + seconds))
while [ "$(date +%s)" -lt "$end" ]; do "$@" || exit 2; done=$((done + 1)); done
echo "COUNT|$done|60|lpm" >&2
"""
SHELLS = """\
#!/bin/sh
i=0
while [ $i -lt "$1" ]; do sh "$UB_BINDIR/tst.sh" & i=$((i + 1)); done
wait
"""
SORTS = "sort sort.src >sorted.$$ && rm sorted.$$\n"
TASKS = """\
#!/bin/sh
[ "$1 $3" = "-t -s" ] || exit 1
printf 'testcase:%s\\nwarmup\\nmin:1 max:1 total:1\\nmeasurement\\nmin:5 max:6 total:11\\naverage:11\\n' "$2 tasks"
"""


def write(folder: Path, **texts: str) -> Path:
    """The folder with executable files of these contents; ``__`` in a name is a slash, ``_sh`` a suffix."""
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_sh", ".sh").replace("_src", ".src")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    return folder


@pytest.fixture
def unixbench(tmp_path: Path) -> Path:
    """A folder laid out as that of UnixBench after ``make``."""
    programs = {"pgms__looper": LOOPER, "pgms__multi_sh": SHELLS, "pgms__tst_sh": SORTS, "testdir__sort_src": "b\na\n"}
    return write(tmp_path, **programs)


def contents(folder: Path) -> list[str]:
    """All that lies below the folder."""
    return sorted(str(Path(place, name).relative_to(folder)) for place, _, names in os.walk(folder) for name in names)


def test_unixbench_runs_and_nothing_is_written_there(unixbench: Path, scratch: Path) -> None:
    before = contents(unixbench)
    settings: dict[str, Setting] = {"directory": str(unixbench), "test": "shell8"}
    assert measured("unixbench", settings | {"seconds": 1}, 2, scratch)["shell8"] > 60
    assert contents(unixbench) == before


def test_a_folder_with_spaces_is_one_word(tmp_path: Path, scratch: Path) -> None:
    step = benchmark("unixbench").steps({"directory": str(tmp_path / "my bench"), "test": "spawn"}, 1, scratch)[0]
    assert step.command[-2:] == (f"{tmp_path}/my bench/pgms/spawn", "10")


def test_copies_that_did_not_tell_are_missed() -> None:
    text = "benchmark copies\nworkers 2\noperations 2\nseconds 10\ncpu-seconds 1\nper-second 0.2\n"
    done = Done(Step(("copies",)), 0, text, "COUNT|5|60|lpm\n")
    with pytest.raises(BenchmarkNonsense, match="1 of 2 copies reported a count"):
        benchmark("unixbench").parse({"directory": "/opt", "test": "shell8"}, [done])


def test_a_program_of_unixbench_that_fails_is_told(unixbench: Path, scratch: Path) -> None:
    (unixbench / "pgms" / "tst.sh").unlink()
    write(unixbench, pgms__multi_sh="#!/bin/sh\nexit 3\n", pgms__tst_sh="")
    settings: dict[str, Setting] = {"directory": str(unixbench), "test": "shell1", "seconds": 1}
    with pytest.raises(BenchmarkFailed, match="looper ended with status 2"):
        measured("unixbench", settings, 1, scratch)


def test_what_is_not_built_is_named(tmp_path: Path) -> None:
    settings: dict[str, Setting] = {"directory": str(tmp_path), "test": "context1"}
    assert (
        benchmark("unixbench").obstacle(settings)
        == f"{tmp_path}/pgms/context1 is not there; build unixbench in its folder first"
    )


def test_a_test_case_of_will_it_scale_runs(tmp_path: Path, scratch: Path) -> None:
    write(tmp_path, page_fault1_threads=TASKS)
    settings: dict[str, Setting] = {"directory": str(tmp_path), "testcase": "page_fault1", "mode": "threads"}
    assert measured("will-it-scale", settings, 2, scratch) == {"ops_per_sec": 11, "slowest_ops_per_sec": 5}


def test_seconds_of_warm_up_are_no_measurement() -> None:
    done = Done(Step(("x",)), 0, "warmup\nmin:1 max:1 total:1\naverage:11\n")
    with pytest.raises(BenchmarkNonsense, match="it has no average of a measurement"):
        benchmark("will-it-scale").parse({"directory": "/opt", "testcase": "open1"}, [done])


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("unixbench", {"directory": "/opt"}, "it needs the setting `test`"),
        ("unixbench", {"test": "shell8"}, "it needs the setting `directory`"),
        ("unixbench", {"directory": "/opt", "test": "shel8"}, r"did you mean shell8\?"),
        ("will-it-scale", {"directory": "/opt", "testcase": "../sh"}, r"there is no test case '../sh'"),
        ("will-it-scale", {"directory": "/opt", "testcase": "open1", "mode": "thread"}, r"did you mean threads\?"),
    ],
)
def test_settings_that_make_no_sense_are_refused(name: str, settings: dict[str, Setting], words: str) -> None:
    with pytest.raises(BenchmarkUnknown, match=words):
        benchmark(name).metrics(settings)
