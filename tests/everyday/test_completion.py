# SPDX-License-Identifier: GPL-2.0-or-later
"""Completion in the shells themselves: commands, options, names of types that an index has."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from linesmith_command import LINESMITH, linesmith

SOURCE = "struct session_index { int a; } i; struct session_table { long b, bits; void *next; } t;"
# What a shell is given at most to start and to complete.
PATIENCE = 300.0


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


def environment() -> dict[str, str]:
    """That of these tests, in which shells find the program."""
    return {**os.environ, "PATH": f"{LINESMITH.parent}:{os.environ['PATH']}", "TERM": "dumb"}


class Shell:
    """A shell at a terminal, which is asked to complete one line after the other."""

    def __init__(self, command: Sequence[str], begin: str, keys: str, show: str) -> None:
        self._keys, self._show, self._asked = keys, show, 0
        self._terminal, theirs = pty.openpty()
        self._process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment(), start_new_session=True
        )
        os.close(theirs)
        os.write(self._terminal, f"{begin}; echo READY$((1+1))\n".encode())
        self._until(b"READY2")

    def completed(self, typed: str) -> str:
        """What the shell makes of a line: the keys that complete it are hit, then it is printed instead of run."""
        self._asked += 1
        number = f"$(({self._asked}+0))"
        # Ctrl-A goes to the begin of the line, Ctrl-E to its end.
        line = f"{typed}{self._keys}\x01{self._show} LINE{number}= \x05 END{number}=\n"
        os.write(self._terminal, line.encode())
        begin, end = f"LINE{self._asked}=".encode(), f"END{self._asked}=".encode()
        return self._until(end).rpartition(begin)[2].partition(end)[0].decode().strip()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)

    def _until(self, mark: bytes) -> bytes:
        """Everything from the terminal up to a mark and what came with it."""
        text = b""
        while mark not in text:
            assert select.select([self._terminal], [], [], PATIENCE)[0], text
            text += os.read(self._terminal, 4096)
        return text


@pytest.fixture(scope="module")
def bash() -> Iterator[Callable[[str], set[str]]]:
    """What bash offers for the last word of a line."""
    begin = "PS1=; bind 'set bell-style none'; eval \"$(linesmith completion bash)\""
    # Meta-* puts all that it offers on the line.
    shell = Shell(["bash", "--norc", "-i"], begin, "\x1b*", "printf '%s\\n'")
    yield lambda typed: {
        word.strip("'\"") for word in shell.completed(typed).split()[len(typed.rpartition(" ")[0].split()) :]
    }
    shell.close()


@pytest.fixture(scope="module")
def zsh() -> Iterator[Callable[[str], str]]:
    """What zsh makes of a line where Tab is hit behind the last letter."""
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    begin = 'PS1=; autoload -Uz compinit; compinit -u -D; eval "$(linesmith completion zsh)"'
    shell = Shell(["zsh", "-f", "-i"], begin, "\t", "print -r --")
    yield shell.completed
    shell.close()


def fish(typed: str) -> set[str]:
    """What fish offers for the last word, without what it says of each."""
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    command = ["fish", "-c", "linesmith completion fish | source; complete -C $argv", "--", typed]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True, env=environment())
    return {line.partition("\t")[0] for line in done.stdout.splitlines() if line}


_TABLE = Path(__file__).with_name("offered.txt").read_text().splitlines()
OFFERED = dict(row.split(" => ") for row in _TABLE if not row.startswith("#"))


@pytest.mark.parametrize("line", OFFERED)
def test_what_bash_offers(bash: Callable[[str], set[str]], folder: Path, line: str) -> None:
    typed = line.replace("F/", f"{folder}/").replace("F ", f"{folder} ")
    assert {one.replace(f"{folder}/", "F/") for one in bash(f"linesmith {typed}")} == set(OFFERED[line].split())


def test_what_zsh_and_fish_complete(zsh: Callable[[str], str], folder: Path) -> None:
    unit = folder / "unit.o"
    for typed, rest in (
        (f"layout {unit} session_t", "able"),
        ("lint --format sa", "rif"),
        ("explain isolation-n", "ew"),
    ):
        assert zsh(f"linesmith {typed}") == f"linesmith {typed}{rest}"
    for typed, offered in (
        (f"layout {unit} session", {"session_index", "session_table"}),
        ("lint --select isolation", {"isolation-broken", "isolation-new"}),
    ):
        assert fish(f"linesmith {typed}") == offered


def test_a_file_is_not_read_for_its_types(folder: Path, tmp_path: Path) -> None:
    words = {"COMP_WORDS": f"linesmith layout {folder}/unit.o s", "COMP_CWORD": "3"}
    cache = {"LINESMITH_CACHE_DIR": str(tmp_path / "cache"), "_LINESMITH_COMPLETE": "bash_complete"}
    done = subprocess.run([LINESMITH], capture_output=True, text=True, check=False, env=environment() | words | cache)
    assert (done.stdout.strip(), done.stderr) == ("", "")
    assert not (tmp_path / "cache").exists()


def test_an_unknown_shell_is_refused() -> None:
    done = linesmith("completion", "csh")
    assert done.stderr == "linesmith completion: SHELL: 'csh' is not one of 'bash', 'zsh', 'fish'; give one of these\n"
