# SPDX-License-Identifier: GPL-2.0-or-later
"""Records a command under a whole kernel that QEMU emulates, with caches simulated."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from linesmith.analyzer.base.child import find
from linesmith.analyzer.base.errors import KernelNotBootable, LinesmithError, NotRecorded
from linesmith.analyzer.model import Guest, Order, Recorded
from linesmith.plugins.machines import system
from linesmith.plugins.machines.elf_image import SymbolTable, code_symbols, read_elf
from linesmith.plugins.machines.guest_files import initramfs, plan, recording_init
from linesmith.plugins.machines.user import RECORDING, Border, escaped, marker_program, plugin_argument, plugin_file
from linesmith.plugins.recording.profile import address_of, of_kallsyms, of_vmlinux, to_profile
from linesmith.plugins.recording.text import circumstances, read_recording

_QMP_SHOWN = 3
_LOG = Path("linesmith.log")


class QemuRecorder:
    """Boots the kernel of the order in an emulated machine and follows what it does to cache lines."""

    name = "qemu"

    def obstacle(self, order: Order) -> str | None:
        """Why this recorder cannot carry out the order; ``None`` when it can."""
        if order.guest is None:
            return "no kernel to boot was named (--kernel)"
        program = system.BOARDS[system.read_kernel(order.guest.kernel).machine]
        try:
            find(program.program, program.package)
            plugin_file()
        except LinesmithError as error:
            return str(error)
        return None

    def commands(self, order: Order) -> tuple[str, ...]:
        """The commands that ``record`` would run."""
        guest = _guest(order)
        return (shlex.join(_command(order, guest, system.read_kernel(guest.kernel), _QMP_SHOWN)),)

    def planned(self, order: Order, machine: str) -> tuple[str, ...]:
        """The command for a kernel that is yet to be built."""
        if machine not in system.BOARDS:
            raise NotRecorded(f"kernels of {machine} cannot be recorded, only those of {', '.join(system.BOARDS)}")
        guest = _guest(order)
        everything = replace(order, emulation=replace(order.emulation, first=None, last=None))
        return (shlex.join(_command(everything, guest, system.KernelImage(guest.kernel, machine), _QMP_SHOWN)),)

    def record(self, order: Order, scratch: Path, tell: Callable[[str], None]) -> Recorded:
        """Run the order with by-products in ``scratch``; ``tell`` hears what is being done.

        Raises ``KernelNotBootable``, ``ToolMissing``, ``GuestFailed``, ``NotRecorded`` or ``ElfError``.
        """
        guest = _guest(order)
        image = system.read_kernel(guest.kernel)
        build_id = read_elf(guest.vmlinux).build_id if guest.vmlinux else None
        command = partial(_command, order, guest, image)
        command(_QMP_SHOWN)
        _write_initramfs(order, guest, image, scratch)
        errand = system.GuestRun(order.seconds, guest.vmlinux is not None, guest.vmlinux is None, build_id, tell)
        ending = system.run(command, scratch, order.log or _LOG, errand)
        tell("reading the recording")
        text = read_recording(scratch / RECORDING)
        names = of_vmlinux(guest.vmlinux) if guest.vmlinux else of_kallsyms(ending.symbols)
        recording = circumstances(order, text, "qemu", ending.qemu, ending.build_id)
        # It was booted without KASLR, so it lies where it was linked.
        recording = replace(recording, kernel_release=ending.release or None, moved=0)
        failed = (f"the command ended with status {ending.status}; its output is in the log",) if ending.status else ()
        profile = to_profile(text, recording, names, str(guest.kernel), (*names.remarks, *failed))
        return Recorded(profile, memory=ending.memory, status=ending.status)


def _guest(order: Order) -> Guest:
    if order.guest is None:
        raise KernelNotBootable("recording on qemu boots a kernel; name one with --kernel (such as /boot/vmlinuz-*)")
    return order.guest


def _command(order: Order, guest: Guest, image: system.KernelImage, qmp: int) -> tuple[str, ...]:
    board = system.BOARDS[image.machine]
    # The NUMA node of each CPU.
    settings = {"nodes": ":".join(str(cpu // (guest.cpus // guest.nodes)) for cpu in range(guest.cpus))}
    if order.trace:
        settings["trace"] = escaped(order.trace)
    if order.emulation.first:
        settings |= {"region": "symbol", "start": _address(order.emulation.first, guest)}
        if order.emulation.last:
            settings["stop"] = _address(order.emulation.last, guest)
    plugin = plugin_argument(plugin_file(), order.emulation, settings)
    program = find(board.program, board.package)
    return system.recording_command(program, guest, board, order.emulation, plugin, order.log or _LOG, qmp)


def _address(function: str, guest: Guest) -> str:
    if guest.vmlinux is None:
        raise NotRecorded(f"finding {function} needs --vmlinux; give the vmlinux of the kernel")
    return address_of(function, SymbolTable(code_symbols(guest.vmlinux)), guest.vmlinux)


def _write_initramfs(order: Order, guest: Guest, image: system.KernelImage, scratch: Path) -> None:
    """Our archive behind the user's: the kernel unpacks both. Each begins at a multiple of four bytes."""
    contents = plan((order.command,), image.machine, guest.overlay, Path.cwd())
    own = guest.initrd.read_bytes() if guest.initrd else b""
    port = system.BOARDS[image.machine].port
    programs = {
        "init": recording_init(contents.commands[0], str(Path.cwd()), port),
        "start": marker_program(contents.machine, Border.START),
        "stop": marker_program(contents.machine, Border.STOP),
    }
    archive = own + bytes(-len(own) % 4) + initramfs(contents, programs, port)
    if 3 * len(archive) > guest.memory:
        raise NotRecorded(
            f"the guest's files take {len(archive) >> 20} MiB, too much for {guest.memory >> 20} MiB of memory; "
            "give more with --memory"
        )
    (scratch / system.INITRAMFS).write_bytes(archive)
