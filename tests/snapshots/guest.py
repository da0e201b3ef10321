# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots a kernel in QEMU, gives it some work, and dumps its memory while the work goes on."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path

from linesmith.analyzer.base.child import Streams, child
from linesmith.plugins.machines.guest_files import archive, file, folder
from linesmith.plugins.machines.talk import Qmp

SECONDS = 600
_BUSY = b"guest is busy"
_INIT = """\
#!/busybox sh
/busybox mount -t proc proc /proc
/busybox mount -t sysfs sys /sys
/busybox mount -t tmpfs tmp /tmp
/busybox insmod /module.ko
i=0
while :; do
    /busybox mkdir /tmp/$i
    /busybox echo $i | /busybox cat >/tmp/$i/file
    [ $i = 20 ] && echo guest is busy
    i=$((i + 1))
done
"""


def dumped(kernel: Path, module: Path, words: str, place: Path) -> None:
    """Boots ``kernel`` with ``words`` on its command line and writes its memory as ``memory`` into ``place``.

    The guest has 4 CPUs and 256 MiB; its one loaded module is ``module``.
    """
    busybox = shutil.which("busybox")
    assert busybox, "busybox is not installed; .ci/packages/dev names its package"
    entries = [
        *map(folder, ("proc", "sys", "tmp", "dev")),
        file("module.ko", module.read_bytes(), 0o644),
        file("busybox", Path(busybox).read_bytes(), 0o755),
        file("init", _INIT.encode(), 0o755),
    ]
    (place / "initramfs").write_bytes(archive(entries))
    near, far = socket.socketpair()
    with near, far, (place / "errors").open("wb") as errors:
        command = _command(kernel, words, far.fileno())
        with child(command, place, Streams(errors=errors), (far.fileno(),)):
            _wait_until_busy(place)
            Qmp(near, SECONDS).dump(place / "whole")
    # Most of the memory is zeros, which need not be kept.
    subprocess.run(["cp", "--sparse=always", place / "whole", place / "memory"], check=True)
    (place / "whole").unlink()


def _command(kernel: Path, words: str, qmp: int) -> tuple[str, ...]:
    return (
        *("qemu-system-x86_64", "-M", "q35", "-cpu", "max", "-accel", "tcg,thread=multi", "-smp", "4", "-m", "256M"),
        *("-kernel", str(kernel), "-initrd", "initramfs", "-append", f"console=ttyS0 quiet panic=-1 {words}"),
        *("-nodefaults", "-display", "none", "-no-reboot", "-serial", "file:console"),
        *("-chardev", f"socket,id=qmp,fd={qmp}", "-mon", "chardev=qmp,mode=control"),
    )


def _wait_until_busy(place: Path) -> None:
    console = place / "console"
    deadline = time.monotonic() + SECONDS
    while not (console.exists() and _BUSY in console.read_bytes()):
        assert time.monotonic() < deadline, (place / "errors").read_text() + console.read_text()
        time.sleep(0.1)
