# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether KVM really runs a guest here: its device may be there and never get anywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from linesmith.plugins.machines.child import Streams, child

_DEVICE = Path("/dev/kvm")
_SECONDS = 5
_FIRMWARE_BYTES = 64 * 1024
# mov $0x31,%al; out %al,$0xf4: QEMU's exit device ends it with the status 2 * 0x31 + 1.
_RESET_CODE = b"\xb0\x31\xe6\xf4"
_RESET_FROM_END = 16
_STATUS_OF_SUCCESS = 0x63


def kvm_verdict() -> str:
    """What to say about KVM when something is recorded in a machine that is emulated, as a sentence without its end.

    A firmware of two instructions is run for some seconds at most; it ends QEMU if it is executed.
    """
    qemu = shutil.which(f"qemu-system-{os.uname().machine}")
    if not _DEVICE.exists():
        return "there is no KVM here, and none is needed: what is followed is emulated"
    if os.uname().machine != "x86_64" or qemu is None or not os.access(_DEVICE, os.R_OK | os.W_OK):
        return "KVM is not used: what is followed is emulated"
    if _runs(qemu):
        return "KVM runs guests here but cannot follow them, so this one is emulated"
    return f"/dev/kvm is here but ran no guest within {_SECONDS} s; it is not needed: what is followed is emulated"


def _runs(qemu: str) -> bool:
    words = ("-accel", "kvm", "-M", "pc", "-m", "16M", "-display", "none", "-nodefaults", "-no-user-config")
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
