# SPDX-License-Identifier: GPL-2.0-or-later
"""A real ssh server on loopback, with keys and a port of its own, that lives as long as a test module."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.model import Setting

SOURCES = Path(__file__).with_name("sources")
CONFIGURATION = (SOURCES / "sshd_config").read_text()
# A host is this one, whose boot-id never changes: over ssh it is what a file says.
CAT = (SOURCES / "cat.sh").read_text()


@dataclass(frozen=True)
class Sshd:
    """The server; its configuration, keys and process number are in ``folder``."""

    program: str
    folder: Path
    port: int

    def settings(self, **others: Setting) -> tuple[tuple[str, Setting], ...]:
        """What the machine needs to be told to reach it."""
        known = f"UserKnownHostsFile={self.folder}/known_hosts"
        ours: dict[str, Setting] = {
            "host": f"ssh://{getpass.getuser()}@127.0.0.1:{self.port}",
            "options": ("-F", "/dev/null", "-i", str(self.folder / "key"), "-o", known, "-o", "IdentitiesOnly=yes"),
            "folder": str(self.folder),
        }
        return tuple((ours | others).items())

    def start(self) -> None:
        """Returns when it answers; it runs in the background."""
        subprocess.run([self.program, "-f", self.folder / "configuration"], check=True, timeout=300)
        end = time.monotonic() + 120
        while time.monotonic() < end:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
        raise TimeoutError("sshd does not answer")

    def stop(self) -> None:
        with suppress(FileNotFoundError, ProcessLookupError):
            os.kill(int((self.folder / "pid").read_text()), signal.SIGTERM)


@contextmanager
def serving(folder: Path) -> Iterator[Sshd]:
    """A server whose files are in ``folder``, which is empty."""
    program = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
    assert program, "install openssh-server"
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    for name in ("host_key", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "configuration").write_text(CONFIGURATION.format(port=port, folder=folder))
    (folder / "bin").mkdir()
    (folder / "bin/cat").write_text(CAT.format(folder=folder))
    (folder / "bin/cat").chmod(0o755)
    (folder / "boot_id").write_text("first\n")
    public = (folder / "host_key.pub").read_text()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {public}")
    server = Sshd(program, folder, port)
    server.start()
    try:
        yield server
    finally:
        server.stop()
