# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the log of a build that failed: what ended it, in the words of its first complaint."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from linesmith.analyzer.errors import BuildFailed, CompilerKilled, DiskFull, LinesmithError, ToolMissing

_MOST = 64 << 20
_LONGEST = 300
# What a shell ends with that has not found a program.
_NOT_FOUND = 127
_NO_SPACE = re.compile(r"No space left on device|Disk quota exceeded")
_KILLED = re.compile(
    r"(Killed|Terminated|Segmentation fault|Bus error|Aborted) signal terminated program (?P<gcc>\S+)"
    r"|collect2: fatal error: (?P<ld>\S+) terminated with signal \d+"
    r"|(?P<clang>\S+): error: unable to execute command: (Killed|Terminated|Segmentation fault)"
    r"|^.*(out of memory allocating|virtual memory exhausted|Cannot allocate memory).*$"
    r"|^(?P<make>g?make(\[\d+\])?: \*\*\* .*(Killed|Segmentation fault|Error 137|Error 139).*)$",
    re.MULTILINE,
)
_MISSING = re.compile(
    r"^(?:/bin/)?(?:ba|da)?sh: (?:line )?(?:\d+: )?(?P<sh>[\w.+-]+): (?:command )?not found"
    r"|make(?:\[\d+\])?: (?P<make>[\w.+-]+): No such file or directory"
    r"|^env: \W(?P<env>[\w.+-]+)\W: No such file",
    re.MULTILINE,
)
# The first that is found anywhere in the log: a compiler's word before a linker's, before make's.
_COMPLAINTS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^[^\s:][^:\n]*:\d+(?::\d+)?: (?:fatal )?error: .*$",
        r"^[^\s:][^:\n]*:\d+: Error: .*$",
        r"^.*: undefined reference to .*$|^ld(?:\.\w+)?: (?:error: )?.*$|^\S+: fatal error: .*$",
        r"^CMake Error.*(?:\n+ .*)?$",
        r"^(?:configure: )?error: .*$",
        r"^\S*make(?:\[\d+\])?: \*\*\* .*$",
        r"^\*\*\* .*$",
    )
)
_PACKAGES = {
    "ninja": "ninja-build",
    "autoreconf": "autoconf",
    "libtoolize": "libtool",
    "aclocal": "automake",
    "ld.lld": "lld",
    "llvm-ar": "llvm",
    "llvm-objcopy": "llvm",
    "pahole": "dwarves",
    "xz": "xz-utils",
    "cc": "gcc",
    "c++": "g++",
}


def failure(log: Path, status: int) -> LinesmithError:
    """The error for a command that ended with ``status`` (negative for a signal) after it wrote the log."""
    with log.open("rb") as file:
        text = file.read(_MOST).decode("utf-8", "replace")
    if _NO_SPACE.search(text):
        return DiskFull(f"the build found no space left on a disk; free some and resume; see {log}")
    missing = _MISSING.search(text)
    if missing and (status == _NOT_FOUND or not (_KILLED.search(text) or _COMPLAINTS[0].search(text))):
        program = missing["sh"] or missing["make"] or missing["env"]
        return ToolMissing(f"{program} is not installed; install the package {package(program)}; see {log}")
    if status < 0 or status in (128 + signal.SIGKILL, 128 + signal.SIGSEGV):
        return CompilerKilled(f"the build was killed by {_signal(status)}; is there memory enough? See {log}")
    if killed := _KILLED.search(text):
        return CompilerKilled(f"a program of the build was killed: {_line(killed[0])}; use fewer jobs; see {log}")
    return BuildFailed(f"{complaint(text)}; see {log}")


def complaint(text: str) -> str:
    """The first complaint of a build's output, one line; its last line where nothing looks like one."""
    for pattern in _COMPLAINTS:
        if found := pattern.search(text):
            return _line(found[0])
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("$ ")]
    return _line(lines[-1]) if lines else "the build failed without a word"


def package(program: str) -> str:
    """Debian's package of a program."""
    return _PACKAGES.get(program, program)


def _line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST]


def _signal(status: int) -> str:
    number = -status if status < 0 else status - 128
    return signal.strsignal(number) or f"signal {number}"
