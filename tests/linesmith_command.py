# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs ``linesmith`` as a user does: a process with its own directory, environment, streams and exit status.

``command`` and ``linesmith`` have the process forked off one that has imported the program already
(``command_server``). ``LINESMITH`` is the installed program, for tests of the entry point, of signals
and of files that may not grow.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache as once
from pathlib import Path
from resource import RLIMIT_AS, RLIMIT_CPU
from types import MappingProxyType
from typing import IO

LINESMITH = Path(sys.executable).with_name("linesmith")
SECONDS = 600


def linesmith(
    *arguments: str | Path,
    cache: Path | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str = "",
    limits: Mapping[int, int] = MappingProxyType({}),
) -> subprocess.CompletedProcess[str]:
    """The finished process with its status, output and errors as text; ``cache`` keeps the index there.

    ``limits`` are the most that it may take of resources (``RLIMIT_CPU`` and others of ``resource``).
    """
    environment = dict(os.environ if env is None else env)
    if cache is not None:
        environment["LINESMITH_CACHE_DIR"] = str(cache)
    done = command(*arguments, cwd=cwd, env=environment, stdin=stdin.encode(), limits=limits)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def limited(*arguments: str | Path, cache: Path) -> subprocess.CompletedProcess[str]:
    """``linesmith`` with as much CPU time and memory as a sound answer takes many times over.

    A process that needs more is killed by SIGXCPU, or fails to get memory.
    """
    return linesmith(*arguments, cache=cache, limits={RLIMIT_CPU: 20, RLIMIT_AS: 1 << 30})


def command(
    *arguments: str | bytes | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    limits: Mapping[int, int] = MappingProxyType({}),
) -> subprocess.CompletedProcess[bytes]:
    """The finished process with its output and errors as they were written."""
    words = [os.fsdecode(one) for one in arguments]
    asked: dict[str, object] = {
        "arguments": words,
        "directory": os.fspath(Path.cwd() if cwd is None else cwd),
        "environment": dict(os.environ if env is None else env),
        "limits": list(limits.items()),
    }
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        given.write(stdin)
        given.seek(0)
        status = _status(asked, given, output, errors)
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(["linesmith", *words], status, output.read(), errors.read())


def _status(asked: dict[str, object], *streams: IO[bytes]) -> int:
    server, _ = _server(os.getpid())
    socket.send_fds(server, [json.dumps(asked).encode()], [one.fileno() for one in streams])
    try:
        return os.waitstatus_to_exitcode(int.from_bytes(server.recv(4), "little"))
    except TimeoutError:
        _server.cache_clear()
        raise


@once
def _server(_process: int) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Our end of a new server, one for each process that asks; it ends when this end is closed with us."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(SECONDS)
    script = Path(__file__).with_name("command_server.py")
    # -P: names of the tests' own modules are not looked up before those of installed packages.
    argv = [sys.executable, "-P", str(script), str(theirs.fileno())]
    with theirs:
        return ours, subprocess.Popen(argv, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, cwd="/")
