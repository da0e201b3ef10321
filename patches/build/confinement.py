# SPDX-License-Identifier: GPL-2.0-or-later
"""Confines a program to the files it needs, without network, and to a share of the memory.

Whatever compiles or runs text of a tree runs confined: a compiler reads any file that a source names (``#include
"/proc/self/environ"``), and what it read comes out in its complaints; make runs what a makefile says.

Landlock, in the kernel since 5.13, limits the files, and since 6.7 TCP; see landlock(7). A seccomp filter refuses every
socket; see seccomp(2). A child that cannot be confined as this system can is not run.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import shutil
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from linesmith.analyzer.base.child import Command, run

# Programs and their libraries; no file of these folders belongs to a user.
SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/alternatives", "/etc/ld.so.cache",
    "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/nix/store", "/gnu/store",
)  # fmt: skip
_SYSTEM = tuple(map(Path, SYSTEM))
_MEMORY_BYTES = 4 << 30
_FILE_BYTES = 2 << 30
_VERSION_SECONDS = 20

# landlock(7); the numbers are the same on every machine.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_ONLY, _PATH_BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_TRUNCATE, _IOCTL = 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
# What each version of the interface knows of files; the last one stands for all later.
_KNOWN = ((1 << 13) - 1, (1 << 14) - 1, (1 << 15) - 1, (1 << 15) - 1, (1 << 16) - 1)
_NETWORK_SINCE, _SCOPES_SINCE = 4, 6
_BIND_AND_CONNECT = 3
_ABSTRACT_SOCKETS_AND_SIGNALS = 3

# prctl(2), seccomp(2), linux/bpf_common.h, linux/audit.h.
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD_WORD, _JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EACCES
_X32 = 0x40000000


# By machine, for programs of 64 and of 32 bits: its name in linux/audit.h, and its calls that open sockets (socket,
# io_uring_setup, and others).
_SOCKETS = {
    "x86_64": ((0xC000003E, (41, 425)), (0x40000003, (102, 359, 425))),
    "aarch64": ((0xC00000B7, (198, 425)), (0x40000028, (281, 425))),
}
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a child may read besides the programs of the system (``readable``), and where it may write.

    Files and folders that do not exist count for nothing.
    """

    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()

    @property
    def variables(self) -> dict[str, str]:
        """The variables that differ for the child: where it finds programs, its home, and its temporary files."""
        own = dict.fromkeys(("HOME", "TMPDIR"), str(self.writable[0] if self.writable else "/nonexistent"))
        known = tuple(f"{one}{os.sep}" for one in (*SYSTEM, *self.readable))
        searched = (one for one in os.get_exec_path() if _resolved(one).startswith(known))
        return {**own, "PATH": os.pathsep.join(dict.fromkeys((*searched, "/usr/bin", "/bin")))}

    @contextmanager
    def entry(self) -> Iterator[Callable[[], None]]:
        """What the child calls before it becomes the program; where there is no Landlock only the rest is limited."""
        with ExitStack() as stack:
            ruleset = -1
            if is_confinable():
                ruleset = _ruleset()
                stack.callback(os.close, ruleset)
                for place in (*_SYSTEM, *self.readable):
                    _allow(ruleset, place, _READ)
                for place in self.writable:
                    _allow(ruleset, place, _handled())
                _allow(ruleset, Path(os.devnull), _READ_FILE | _WRITE_FILE)
            program = _socket_filter()
            yield lambda: _enter(ruleset, program)


@lru_cache(maxsize=64)
def _resolved(folder: str) -> str:
    """A folder of PATH without links, with a slash at its end; empty where it is searched from where a program runs."""
    return f"{os.path.realpath(folder)}{os.sep}" if folder.startswith(os.sep) else ""


def program_folders() -> tuple[Path, ...]:
    """Where programs are installed: the system's folders, /opt, and the absolute ones of PATH."""
    named = (Path(one) for one in os.get_exec_path() if one.startswith("/"))
    return tuple(folder.resolve() for folder in (*map(Path, SYSTEM), Path("/opt"), *named))


def toolchain_of(program: str) -> tuple[Path, ...]:
    """The folder that a program outside of the system's own is installed in, but never a home as a whole."""
    found = shutil.which(program)
    if found is None:
        return ()
    folder = Path(found).resolve().parent
    prefix = folder.parent
    return (folder,) if prefix == Path("/") or Path.home().is_relative_to(prefix) else (prefix,)


def compiler_version(compiler: str) -> str:
    """What the compiler says of itself, which may be a program that a tree named; raises ``ToolMissing``."""
    confinement = Confinement(toolchain_of(compiler))
    return run(Command((compiler, "--version"), Path("/"), _VERSION_SECONDS, confinement)).output


@lru_cache(maxsize=1)
def is_confinable() -> bool:
    """Whether the kernel that runs us has Landlock, and lets us use it."""
    return _version() > 0


@lru_cache(maxsize=1)
def _version() -> int:
    if not sys.platform.startswith("linux"):
        return 0
    return max(int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_ONLY)), 0)


def _handled() -> int:
    return _KNOWN[min(_version(), len(_KNOWN)) - 1]


def _ruleset() -> int:
    attributes = struct.pack("=QQQ", _handled(), _BIND_AND_CONNECT, _ABSTRACT_SOCKETS_AND_SIGNALS)
    size = 24 if _version() >= _SCOPES_SINCE else 16 if _version() >= _NETWORK_SINCE else 8
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


@lru_cache(maxsize=1)
def _socket_filter() -> ctypes.Array[ctypes.c_char] | None:
    """The filter that refuses sockets (``EACCES``), also of 32-bit programs; ``None`` for machines not known here."""
    machines = _SOCKETS.get(platform.machine())
    if machines is None:
        return None
    steps: list[tuple[int, int, int, int]] = []
    for audit, refused in machines:
        # By machine: the call's number against each of those refused; x32 calls of x86-64 are refused as a whole.
        tests = [(_JUMP_IF_EQUAL, number) for number in refused]
        if audit == _SOCKETS["x86_64"][0][0]:
            tests.append((_JUMP_IF_AT_LEAST, _X32))
        steps += [(_LOAD_WORD, 0, 0, 4), (_JUMP_IF_EQUAL, 0, len(tests) + 3, audit), (_LOAD_WORD, 0, 0, 0)]
        steps += [(code, len(tests) - place, 0, value) for place, (code, value) in enumerate(tests)]
        steps += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    steps.append((_RETURN, 0, 0, _ALLOW))
    packed = b"".join(struct.pack("=HBBI", *step) for step in steps)
    return ctypes.create_string_buffer(packed, len(packed))


def _enter(ruleset: int, program: ctypes.Array[ctypes.c_char] | None) -> None:
    """Runs between fork and exec; a child that cannot be confined is not run."""
    for limit, most in ((resource.RLIMIT_AS, _MEMORY_BYTES), (resource.RLIMIT_FSIZE, _FILE_BYTES)):
        _, hard = resource.getrlimit(limit)
        resource.setrlimit(limit, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if ruleset >= 0 and _libc.syscall(_RESTRICT_SELF, ruleset, 0):
        os._exit(126)
    if program is None:
        return
    described = struct.pack("@HP", len(program) // 8, ctypes.addressof(program))
    if _libc.prctl(_SET_SECCOMP, _FILTER, described, 0, 0) and ctypes.get_errno() != errno.EINVAL:
        os._exit(126)  # EINVAL: a kernel without such filters
