# SPDX-License-Identifier: GPL-2.0-or-later
"""Confines a program to the files that it needs, with Landlock, and to a share of the memory.

A compiler reads whatever a source names: ``#include "/proc/self/environ"``, ``asm(".incbin …")``. What it read can come
out again, in its complaints or as the size of an array. See landlock(7); the kernel has it since 5.13.
"""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_ONLY, _PATH_BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_TRUNCATE, _IOCTL = 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
# What each version of the interface knows of files; the last one stands for all later.
_KNOWN = ((1 << 13) - 1, (1 << 14) - 1, (1 << 15) - 1, (1 << 15) - 1, (1 << 16) - 1)
_NETWORK_SINCE = 4
_NETWORK = 3
_READ = _EXECUTE | _READ_FILE | _READ_DIR
SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/alternatives", "/etc/ld.so.cache",
    "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/nix/store", "/gnu/store",
)  # fmt: skip
_MEMORY_BYTES = 4 << 30
_FILE_BYTES = 2 << 30
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a child may read beside the programs of the system (``readable``), and where it may write.

    Files and folders that are not there count for nothing.
    """

    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()

    @property
    def variables(self) -> dict[str, str]:
        """What tells the child where to put its temporary files."""
        return dict.fromkeys(("TMPDIR",), str(self.writable[0])) if self.writable else {}

    @contextmanager
    def entry(self) -> Iterator[Callable[[], None]]:
        """What the child calls before it becomes the program; where there is no Landlock only memory is bounded."""
        with ExitStack() as stack:
            ruleset = -1
            if is_confinable():
                ruleset = _ruleset()
                stack.callback(os.close, ruleset)
                self._fill(ruleset)
            yield lambda: _enter(ruleset)

    def _fill(self, ruleset: int) -> None:
        for place in (*map(Path, SYSTEM), *self.readable):
            _allow(ruleset, place, _READ)
        for place in self.writable:
            _allow(ruleset, place, _handled())
        _allow(ruleset, Path(os.devnull), _READ_FILE | _WRITE_FILE)


def toolchain_of(compiler: str) -> tuple[Path, ...]:
    """The folder that a compiler outside of the system's own is installed in, but never a home as a whole."""
    found = shutil.which(compiler)
    if found is None:
        return ()
    folder = Path(found).resolve().parent
    prefix = folder.parent
    return (folder,) if prefix == Path("/") or Path.home().is_relative_to(prefix) else (prefix,)


@lru_cache(maxsize=1)
def is_confinable() -> bool:
    """Whether the kernel that runs us has Landlock, and lets us use it."""
    return _version() > 0


def _version() -> int:
    if not sys.platform.startswith("linux"):
        return 0
    return max(int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_ONLY)), 0)


def _handled() -> int:
    return _KNOWN[min(_version(), len(_KNOWN)) - 1]


def _ruleset() -> int:
    attributes = struct.pack("=QQ", _handled(), _NETWORK)
    size = 16 if _version() >= _NETWORK_SINCE else 8
    ruleset = int(_libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), 0))
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "Landlock cannot be used", "landlock")
    return ruleset


def _allow(ruleset: int, place: Path, rights: int) -> None:
    try:
        opened = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        folder = os.fstat(opened).st_mode & 0o170000 == 0o040000
        granted = rights & _handled() if folder else rights & _handled() & _OF_FILES
        rule = struct.pack("=Qi", granted, opened)
        if _libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0):
            raise OSError(ctypes.get_errno(), "Landlock cannot be used", str(place))
    finally:
        os.close(opened)


def _enter(ruleset: int) -> None:
    """Runs between fork and exec; a child that cannot be confined is not run."""
    for limit, most in ((resource.RLIMIT_AS, _MEMORY_BYTES), (resource.RLIMIT_FSIZE, _FILE_BYTES)):
        _, hard = resource.getrlimit(limit)
        resource.setrlimit(limit, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if ruleset < 0:
        return
    _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if _libc.syscall(_RESTRICT_SELF, ruleset, 0):
        os._exit(126)
