# SPDX-License-Identifier: GPL-2.0-or-later
"""What every command does: what it says of itself and of long work, how loud it is and how wide, how it is ended."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click
import pytest
from c_source import compiled
from linesmith_command import LINESMITH, linesmith

from linesmith.analyzer.base.errors import install_command
from linesmith.analyzer.cli.group import interruptible
from linesmith.analyzer.cli.output import StepReporter


def test_the_version_is_one_line() -> None:
    assert linesmith("--version").stdout == f"linesmith, version {version('linesmith')}\n"


FOREVER = float("inf")


def test_each_step_of_long_work_is_in_a_log_once_and_quick_work_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    tell = StepReporter(patience=0)
    for done in range(3):
        tell(f"compiled {done} of 3 units")
    tell("writing")
    StepReporter(patience=FOREVER)("compiling fs/inode.c")
    assert capsys.readouterr().err == "linesmith: compiled 0 of 3 units\nlinesmith: writing\n"


def test_a_part_is_installed_by_the_python_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/work place/.venv/bin/python")
    assert install_command("png") == "'/work place/.venv/bin/python' -m pip install 'linesmith[png]'"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_command_unless_its_caller_ignores_it(number: signal.Signals) -> None:
    former = signal.getsignal(number)
    try:
        signal.signal(number, signal.SIG_IGN)
        with interruptible():
            signal.raise_signal(number)
        signal.signal(number, signal.SIG_DFL)
        with pytest.raises(click.Abort), interruptible():
            signal.raise_signal(number)
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, former)


# What ``-q`` keeps quiet and ``-v`` tells, whichever command it is


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return compiled(tmp_path, "struct pair { int a, b; } pair;")


def without_a_cache(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """The command where nothing can be kept, which it remarks on."""
    return linesmith(*words, cache=Path("/dev/null/cache"))


def test_quiet_leaves_remarks_out_and_the_result_as_it_is(program: Path) -> None:
    plain = without_a_cache("layout", program)
    said = "reads everything again: the cache directory /dev/null/cache cannot be used (Not a directory); set "
    assert said in plain.stderr
    for words in (("-q", "layout", program), ("layout", "-q", program)):
        done = without_a_cache(*words)
        assert (done.returncode, done.stderr, done.stdout) == (0, "", plain.stdout)


def test_quiet_does_not_hide_an_error(tmp_path: Path) -> None:
    done = linesmith("layout", "-q", tmp_path / "absent")
    assert (done.returncode, "does not exist" in done.stderr) == (2, True)
    done = linesmith("layout", "-q", "-v", tmp_path)
    assert done.stderr == "linesmith layout: -v and -q contradict each other; give one of them\n"


def test_verbose_tells_the_time_it_took(program: Path) -> None:
    done = linesmith("layout", "-v", program)
    assert done.returncode == 0
    assert "done; processor time" in done.stderr.splitlines()[-1]


def test_verbose_tells_which_commands_are_run(tmp_path: Path) -> None:
    done = linesmith("record", "-v", "--on", "perf", "-o", tmp_path / "profile", "--", "true")
    runs = [line for line in done.stderr.splitlines() if ": runs " in line]
    assert any("perf c2c record" in line for line in runs) or "perf is not installed" in done.stderr


# Text is as wide as the terminal, and in a file or a pipe as wide as is good to read

COMMANDS = (("hot", "bench", "bench.c2c"), ("suggest", "bench", "bench.c2c"), ("access", "bench", "--type", "session"))


def shown(example: Path, *arguments: str, columns: int | None = None) -> str:
    """What the command prints into a pipe, for a terminal of so many columns where they are said."""
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environment |= {"COLUMNS": str(columns)} if columns else {}
    done = linesmith(*arguments, cwd=example, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def widest(text: str) -> int:
    """Columns of the longest line that is neither C nor begins with a file: these are as wide as they are."""
    return max(len(line) for line in text.splitlines() if "/*" not in line and not line.startswith("bench"))


@pytest.mark.parametrize("arguments", COMMANDS)
def test_no_line_is_wider_than_the_terminal_or_than_100_columns_in_a_pipe(
    example: Path, arguments: tuple[str, ...]
) -> None:
    assert widest(shown(example, *arguments, columns=60)) <= 60
    assert widest(shown(example, *arguments)) <= 100


# The manual, a page for each command that formatters take without a complaint


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all pages."""
    folder = tmp_path_factory.mktemp("manual") / "man1"
    done = linesmith("man", "-o", folder)
    assert done.returncode == 0, done.stderr
    return folder


def commands() -> set[str]:
    """The names in the help of the program."""
    return set(re.findall(r"^  ([a-z]+)  ", linesmith("--help").stdout.partition("look:")[2], re.MULTILINE))


def formatted(page: Path) -> str:
    """The page as a terminal shows it, on one line and without breaks in words."""
    shown = subprocess.run(
        ["man", "--no-hyphenation", "--no-justification", "-l", page],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "MANWIDTH": "100", "MAN_KEEP_FORMATTING": "", "LC_ALL": "C.UTF-8"},
    )
    return " ".join(shown.stdout.replace("\u2010", "-").split())


def test_every_command_has_a_page(manual: Path) -> None:
    assert {page.name for page in manual.iterdir()} == {"linesmith.1", *(f"linesmith-{name}.1" for name in commands())}


@pytest.mark.skipif(shutil.which("man") is None, reason="no man to show a page with")
def test_a_page_says_what_the_help_says(manual: Path) -> None:
    shown = formatted(manual / "linesmith-slab.1")
    described = linesmith("slab", "--help").stdout.partition("\n\n")[2].partition("Options:")[0]
    assert " ".join(described.replace("`", "").split()) in shown
    assert "--cpus N Number of CPUs; the size of slabs depends on it." in shown
    assert "LINESMITH_SLAB_CPUS, LINESMITH_CPUS Sets --cpus." in shown
    # Commands to type keep their lines.
    typed = "linesmith record --kernel vmlinuz --vmlinux vmlinux -o profile -- sh -c 'ls | wc'"
    assert typed in formatted(manual / "linesmith-record.1")


@pytest.mark.skipif(shutil.which("man") is None, reason="no man to show a page with")
@pytest.mark.parametrize("document", ["README.md", "docs/index.md"])
def test_status_1_means_the_same_wherever_it_is_told(manual: Path, document: str) -> None:
    found = re.search(r"1 Differences, (.*?)\. 2 Error: ", formatted(manual / "linesmith-lint.1"))
    assert found is not None
    told = " ".join((Path(__file__).resolve().parents[2] / document).read_text().split())
    assert f"differences, {found[1]}" in told


@pytest.mark.parametrize(
    "formatter",
    [("groff", "-ww", "-man", "-Tutf8", "-z"), ("man", "--warnings=w", "-l"), ("mandoc", "-Tlint", "-Wstyle")],
    ids=lambda words: words[0],
)
def test_formatters_have_nothing_to_say(manual: Path, formatter: tuple[str, ...]) -> None:
    if shutil.which(formatter[0]) is None:
        pytest.skip(f"{formatter[0]} is not installed")
    pages = sorted(manual.iterdir())
    done = subprocess.run([*formatter, *pages], capture_output=True, text=True, check=True)
    assert (done.stdout if formatter[0] == "mandoc" else done.stderr) == ""


def test_the_date_of_the_pages_can_be_given(tmp_path: Path) -> None:
    assert linesmith("man", "-o", tmp_path, env={**os.environ, "SOURCE_DATE_EPOCH": "86400"}).returncode == 0
    assert '"1970-01-02"' in (tmp_path / "linesmith.1").read_text()


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = linesmith("man", "-o", tmp_path / "file" / "man1")
    assert (done.returncode, done.stderr.partition("; ")[0]) == (2, f"linesmith: {tmp_path}/file/man1: Not a directory")


# What the program answers a shell whose script click writes: commands, options, types of an index

SOURCE = "struct session_index { int a; } i; struct session_table { long b, bits; void *next; } t;"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Object files whose layouts have been read, one with a name that a shell would run, and other files."""
    folder = tmp_path_factory.mktemp("completed")
    (folder / "unit.c").write_text(SOURCE)
    (folder / "hostile.c").write_text("struct hostile_$HOME { int a; } h; struct hostile_plain { int a; } p;")
    for name in ("unit", "hostile"):
        subprocess.run(["gcc", "-g", "-c", f"{name}.c", "-o", f"{name}.o"], cwd=folder, check=True)
        assert linesmith("index", folder / f"{name}.o").returncode == 0
    for name, content in (("old.patch", b""), ("text", b"no ELF file"), ("cut", b"\x7fELF\x02")):
        (folder / name).write_bytes(content)
    return folder


def offered(line: str, **variables: str) -> str:
    """What the program offers bash for the last word of a line."""
    words = f"linesmith {line}"
    asked = {"_LINESMITH_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run([LINESMITH], capture_output=True, text=True, check=False, env=os.environ | asked | variables)
    assert done.stderr == ""
    return done.stdout


_TABLE = Path(__file__).with_name("offered.txt").read_text().splitlines()
OFFERED = {line: found for line, _, found in (row.partition(" =>") for row in _TABLE if not row.startswith("#"))}


@pytest.mark.parametrize("line", OFFERED)
def test_what_is_offered(folder: Path, line: str) -> None:
    found = offered(line.replace("F/", f"{folder}/")).replace(f"{folder}/", "F/").split()
    assert found == [one if "," in one else f"plain,{one}" for one in OFFERED[line].split()]


def test_a_file_is_not_read_for_its_types(folder: Path, tmp_path: Path) -> None:
    assert offered(f"layout {folder}/unit.o s", LINESMITH_CACHE_DIR=str(tmp_path / "cache")).strip() == ""
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_that_asks_the_program(shell: str) -> None:
    assert f"_LINESMITH_COMPLETE={shell}_complete" in linesmith("completion", shell).stdout
