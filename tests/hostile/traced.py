# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs commands on hostile changes under strace, and lists what they opened or ran that they must not."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from demo.example import PROFILE, example_program
from hostile.changes import WORDS, Change, Content, kernel_change, program_change
from lint_commits import Commits, repository
from matrix.small_kernel import FILES
from patch_cases import write_files

from linesmith.analyzer.base.errors import LinesmithError

COMMANDS = ("lint --base-ref", "lint --patch", "diff --patch", "patch")
HIDDEN = "ossifrage"
CONFIGURATION = FILES[".config"]
_SECONDS = 300
_CALLS = "execve,execveat,open,openat,openat2,creat"
_OPENED = re.compile(r"^\d+ +(open|openat|openat2|creat)\((.*)\) += \d+<([^>]*)>")
_RAN = re.compile(r'^\d+ +execve(?:at)?\((?:[^"]*, )?"([^"]*)".*\) += 0$')
_SYSTEM: tuple[str, ...] = tuple(WORDS["system"])


class Attack:
    """A change in a repository, with the files that it is after beside it."""

    def __init__(self, folder: Path, number: int, bench: Path) -> None:
        sources = {one.name: one.read_text() for one in bench.parent.glob("*.[ch]")}
        self.folder, self.bench = folder, bench
        self.outside = folder / "outside"
        self.outside.mkdir()
        for name in ("secret", "kept"):
            (self.outside / name).write_text(f"{HIDDEN} {HIDDEN}_t;\n")
        shutil.copy(bench.parent / "plugin.so", self.outside / "plugin.so")
        compiler = self.outside / "gcc"
        compiler.write_text(f"#!/bin/sh\ntouch {self.outside}/ran\n")
        compiler.chmod(0o755)
        of_program = program_change(number, sources)
        self.program = self._repository("program", of_program)
        self.kernel = self._repository("kernel", kernel_change(number)) if number % 2 else self.program
        self.kinds = of_program.kinds

    def _repository(self, name: str, of: Change) -> tuple[Commits, str, str]:
        """A repository with the commits of the base and of the head."""
        made = repository(self.folder / name)
        base = made.commit({name: self._filled(text) for name, text in of.base.items()})
        files = {name: self._filled(text) for name, text in of.head.items()}
        try:
            return made, base, made.commit(files, base)
        except (subprocess.CalledProcessError, UnicodeEncodeError):  # names that git itself does not take
            sound = {one: text for one, text in files.items() if re.fullmatch(r"[\w./$();` \"'@=-]+", one)}
            sound = {one: text for one, text in sound.items() if ".." not in one and ".git/" not in one.lower()}
            return made, base, made.commit(sound, base)

    def _filled(self, content: Content) -> Content:
        if isinstance(content, tuple):
            return content[0], self._replaced(content[1].decode()).encode()
        return self._replaced(content) if isinstance(content, str) else content

    def _replaced(self, text: str) -> str:
        for word, name in {
            "SECRET": "secret",
            "RAN": "ran",
            "KEPT": "kept",
            "PLUGIN": "plugin.so",
            "FOLDER": "",
        }.items():
            text = text.replace(f"@{word}@", str(self.outside / name))
        return text

    def breaches(self) -> Iterator[str]:
        """What each command does that it must not."""
        for command in COMMANDS:
            yield from (f"{', '.join(self.kinds)}: {command}: {what}" for what in self._judged(command))

    def _judged(self, command: str) -> Iterator[str]:
        words, given, tree = self._words(command)
        done, trace = self.traced(words, given, tree)
        said = (done.stdout + done.stderr).decode("utf-8", "replace")
        if HIDDEN in said:
            yield "shows the secret"
        if (self.outside / "ran").exists():
            yield "ran a command of the change"
            (self.outside / "ran").unlink()
        if (self.outside / "kept").read_text() != f"{HIDDEN} {HIDDEN}_t;\n":
            yield "overwrote a file"
        if done.returncode not in (0, 1, 2) or "Traceback" in said:
            yield f"ended with {done.returncode}: {said[-300:]}"
        if "\x1b[2J" in said or "\u202e" in said:
            yield "steers the terminal"
        yield from strangers(trace, self.allowed(tree))

    def traced(self, words: Sequence[str], given: bytes, tree: Path) -> tuple[subprocess.CompletedProcess[bytes], str]:
        """The ended command, and what strace says of it."""
        trace = self.folder / "trace"
        options = ("-f", "-qq", "-y", "-s", "1024", "--seccomp-bpf", "-e", f"trace={_CALLS}", "-o", str(trace))
        done = subprocess.run(
            ["strace", *options, *words], input=given, cwd=tree, env=self._environment(), capture_output=True,
            check=False, timeout=_SECONDS,
        )  # fmt: skip
        return done, trace.read_text("utf-8", "replace")

    def _words(self, command: str) -> tuple[list[str], bytes, Path]:
        """The command line, its input, and the tree, which is checked out as the command expects it."""
        linesmith = str(Path(sys.executable).with_name("linesmith"))
        made, base, head = self.program if command == "patch" else self.kernel
        _check_out(made.root, base if "--patch" in command else head)
        tree = str(made.root)
        if command == "lint --base-ref":
            return [linesmith, "lint", "--tree", tree, "--base-ref", base, "--head-ref", "HEAD"], b"", made.root
        if command == "patch":
            profile = str(self.bench.parent / PROFILE)
            argv = [linesmith, "patch", str(self.bench), profile, "--tree", tree, "--type", "session_index"]
            return argv, b"", made.root
        if (made.root / "Kbuild").is_file():
            write_files(made.root, {".config": CONFIGURATION})
        diff = ["git", "diff", "--binary", base, head]
        patch = subprocess.run(diff, cwd=made.root, capture_output=True, check=True, timeout=60).stdout
        return [linesmith, command.split()[0], "--patch", "-", "--tree", tree], patch, made.root

    def _environment(self) -> dict[str, str]:
        places = {"HOME": self.folder / "home", "TMPDIR": self.folder / "scratch"}
        for place in places.values():
            place.mkdir(exist_ok=True)
        own = {name: str(place) for name, place in places.items()}
        return {"PATH": os.environ["PATH"], "LINESMITH_CACHE_DIR": str(self.folder / "cache"), **own}

    def allowed(self, tree: Path) -> tuple[str, ...]:
        """What a command may open: its inputs, its own places, Python and the system."""
        own = (tree, *(self.folder / name for name in ("cache", "scratch", "home")), self.bench.parent)
        packages = {Path(place).resolve() for place in (sys.prefix, sys.base_prefix, *sys.path) if place}
        checkout = Path(inspect.getfile(LinesmithError)).resolve().parents[1]
        # A checkout that is installed to be edited has its parent in sys.path, and that may hold our own folder, too.
        sound = (place for place in packages if not self.folder.is_relative_to(place))
        return (*map(str, (*own, *sound, checkout)), *_SYSTEM)


def _check_out(tree: Path, commit: str) -> None:
    argv = ["git", "-c", "core.protectNTFS=false", "checkout", "-q", "-f", "--detach", commit]
    subprocess.run(argv, cwd=tree, capture_output=True, check=False, timeout=60)


def strangers(trace: str, allowed: Sequence[str]) -> Iterator[str]:
    """What was opened for reading or writing, or run, from outside of the ``allowed`` places; each once."""
    found: dict[str, None] = {}
    for line in trace.splitlines():
        if (ran := _RAN.match(line)) and not _lies_in(os.path.realpath(ran[1]), allowed):
            found[f"ran {ran[1]}"] = None
        opened = _OPENED.match(line)
        listed = opened and opened[3] in sys.path  # by Python, which looks for modules there
        if opened and not listed and "O_PATH" not in opened[2] and not _lies_in(opened[3], allowed):
            found[f"opened {opened[3]}"] = None
    yield from found


def _lies_in(place: str, allowed: Sequence[str]) -> bool:
    return re.match(r"/proc/\d+(?:/|$)", place) is not None or any(
        place == one or place.startswith((f"{one}/", "pipe:", "socket:", "anon_inode:")) for one in allowed
    )


def built(folder: Path) -> Path:
    """The example program of the package with its sources and a plugin that leaves a trace, below ``folder``."""
    made = example_program(folder / "bench")
    plugin = Path(__file__).with_name("sources") / "plugin.c"
    argv = ["gcc", "-shared", "-fPIC", "-o", str(made.with_name("plugin.so")), str(plugin)]
    subprocess.run(argv, check=True, timeout=60)
    return made


def breaches(bench: Path, number: int) -> list[str]:
    """What the commands do on one change that they must not."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        return list(Attack(Path(folder).resolve(), number, bench).breaches())
