# SPDX-License-Identifier: GPL-2.0-or-later
"""A child process that cannot outlive us: a session of its own, killed as a whole, and by the kernel if we die."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from linesmith.analyzer.errors import ToolMissing

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def find(program: str, package: str) -> str:
    """Path of a program; raises ``ToolMissing`` with the package to install."""
    found = shutil.which(program)
    if found is None:
        raise ToolMissing(f"{program} is not installed; install the package {package}")
    return found


@contextmanager
def child(
    argv: Sequence[str], directory: Path, errors: IO[bytes], kept: Sequence[int] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``argv`` in ``directory`` with pipes to its input and output; whatever is left of it ends with the block.

    ``kept`` are file descriptors that the child gets too. Raises ``ToolMissing`` when it cannot be started.
    """
    parent = os.getpid()
    try:
        process = subprocess.Popen(
            argv,
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            pass_fds=kept,
            start_new_session=True,
            preexec_fn=lambda: _die_with(parent),
        )
    except OSError as error:
        raise ToolMissing(f"{argv[0]} cannot be run ({error.strerror}); reinstall it") from error
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and everything in its session's group, and wait for it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe:
            with suppress(OSError):
                pipe.close()


def _die_with(parent: int) -> None:
    """Runs in the child: have it killed when ``parent`` ends, or at once when that has happened. See prctl(2)."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
