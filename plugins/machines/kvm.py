# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether KVM really runs a guest here: its device may be there and never get anywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from linesmith.plugins.machines.child import Streams, child

KVM = ("-accel", "kvm")
KVM_CPU = ("-cpu", "host")
_DEVICE = Path("/dev/kvm")
_SECONDS = 5
_FIRMWARE_BYTES = 64 * 1024
# mov $0x31,%al; out %al,$0xf4: QEMU's exit device ends it with the status 2 * 0x31 + 1.
_RESET_CODE = b"\xb0\x31\xe6\xf4"
_RESET_FROM_END = 16
_STATUS_OF_SUCCESS = 0x63


def kvm_verdict() -> str:
    """What to say about KVM when something is recorded in a machine that is emulated, as a sentence without its end."""
    lacking = kvm_obstacle()
    if lacking is None:
        return "KVM runs guests here but cannot follow them, so this one is emulated"
    return f"{lacking}, and none is needed: what is followed is emulated"


@cache
def kvm_obstacle() -> str | None:
    """Why KVM runs no guest here, a sentence without its end; ``None`` when one ran.

    A firmware of two instructions is run for some seconds at most, once a process; it ends QEMU if it is executed.
    """
    machine = os.uname().machine
    qemu = shutil.which(f"qemu-system-{machine}")
    if not _DEVICE.exists():
        return "there is no KVM here"
    if machine != "x86_64" or qemu is None:
        return "there is no KVM that could be tried here"
    if not os.access(_DEVICE, os.R_OK | os.W_OK):
        return f"{_DEVICE} may not be used by this user"
    return None if _runs(qemu) else f"{_DEVICE} is here but runs no guest"


def _runs(qemu: str) -> bool:
    words = (*KVM, "-M", "q35", *KVM_CPU, "-m", "16M", "-display", "none", "-nodefaults", "-no-user-config")
    with TemporaryDirectory(prefix="linesmith-kvm-") as folder:
        firmware = Path(folder) / "firmware"
        code = _RESET_CODE.ljust(_RESET_FROM_END, b"\xf4")
        firmware.write_bytes(code.rjust(_FIRMWARE_BYTES, b"\xf4"))
        argv = (qemu, *words, "-device", "isa-debug-exit,iobase=0xf4,iosize=1", "-bios", str(firmware))
        with (
            (Path(folder) / "errors").open("wb") as errors,
            child(argv, Path(folder), Streams(subprocess.DEVNULL, subprocess.DEVNULL, errors)) as process,
            suppress(subprocess.TimeoutExpired),
        ):
            return process.wait(_SECONDS) == _STATUS_OF_SUCCESS
    return False
