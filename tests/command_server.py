# SPDX-License-Identifier: GPL-2.0-or-later
"""A process that has imported ``linesmith`` and forks for each command line that it is asked to run.

A command runs in a process of its own, as a user's does: with its own directory, environment, standard streams and
exit status, and nothing that it changes is left to the next one. Only Python and the modules are there already, which
is what most short commands spend their time on.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import socket
import sys
from typing import NoReturn

_MOST_BYTES = 1 << 17


def serve(requests: socket.socket) -> None:
    """Answer requests until the other side closes: a JSON object and three descriptors in, a wait status out."""
    while True:
        message, streams, _, _ = socket.recv_fds(requests, _MOST_BYTES, 3)
        if not message:
            return
        asked = json.loads(message)
        loaded, report = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(loaded)
            requests.close()
            _run(asked, streams, report)
        for one in (*streams, report):
            os.close(one)
        with os.fdopen(loaded, encoding="utf-8") as modules:
            names = modules.read().split()
        _, status = os.waitpid(child, 0)
        requests.sendall(status.to_bytes(4, "little"))
        # The next command that needs them has them from the start.
        for name in names:
            importlib.import_module(name)


def _run(asked: dict[str, object], streams: list[int], report: int) -> NoReturn:
    """Be the command: its streams, directory, environment and arguments, then its exit status."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    known = set(sys.modules)
    status = 1
    try:
        os.environ.clear()
        os.environ.update(asked["environment"])  # type: ignore[call-overload]
        os.chdir(str(asked["directory"]))
        sys.argv = ["linesmith", *asked["arguments"]]  # type: ignore[misc]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for kind, most in asked["limits"]:  # type: ignore[attr-defined]
            resource.setrlimit(kind, (most, most))
        status = _status()
    finally:
        new = [name for name in sys.modules if name.startswith("linesmith.") and name not in known]
        os.write(report, "\n".join(new).encode())
        os._exit(status)


def _status() -> int:
    from linesmith.analyzer.cli import main

    try:
        main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        # What Python does with an error that nobody catches.
        sys.excepthook(*sys.exc_info())
        status = 1
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    return status


if __name__ == "__main__":
    importlib.import_module("linesmith.analyzer.cli")
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        serve(connection)
