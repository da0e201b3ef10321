# SPDX-License-Identifier: GPL-2.0-or-later
"""What cannot be recorded is refused in one sentence, before anything is booted."""

from __future__ import annotations

from pathlib import Path

import pytest
from linesmith_command import linesmith


def refusal(*arguments: str | Path) -> str:
    """The one line that the command says when it refuses."""
    done = linesmith("record", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    return done.stderr


DAMAGED = b"\x1f\x8b\x08".ljust(10, b"\0") + b"\xff" * 5
CUT_OFF = b"".ljust(0x202, b"\0") + b"HdrS"
# A file with the marks of a bzImage and nothing in it to boot.
BZIMAGE = CUT_OFF.ljust(0x400, b"\0")
NO_QEMU = "qemu-system-x86_64 is not installed or cannot be run; install the package qemu-system-x86\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no kernel", "kernel is not a bootable kernel; give --kernel the bzImage"),
        (DAMAGED, "cannot be read (Error -3 while decompressing data"),
        (CUT_OFF, "qemu-system-x86_64 is not installed"),
        (BZIMAGE, f"linesmith: {NO_QEMU}"),
        (None, "/usr/bin/git is an ELF file without an entry for virtual machines; give --kernel the bzImage"),
    ],
    ids=["text", "damaged gzip", "cut off behind its mark", "no qemu", "program"],
)
def test_what_cannot_be_booted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, message: str
) -> None:
    kernel = tmp_path / "kernel" if content is not None else Path("/usr/bin/git")
    if content is not None:
        kernel.write_bytes(content)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert message in refusal("--on", "qemu", "--kernel", kernel, "-o", tmp_path / "profile", "--", "true")


def test_without_any_recorder_each_reason_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refusal("-o", tmp_path / "profile", "--", "/bin/true") == (
        "linesmith: no recorder works on this machine: not on perf: perf is not installed (package linux-perf); not"
        " on qemu-user: qemu-x86_64 is not installed or cannot be run; install the package qemu-user; not on qemu: no"
        " kernel to boot was named (--kernel)\n"
    )


# FOLDER is a folder with a bzImage; the last words say where the profile goes and what is run.
OUT = ("-o", "FOLDER/profile", "--", "/bin/true")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--on", "qemu", *OUT),
            "recording on qemu boots a kernel; name one with --kernel (such as /boot/vmlinuz-*)\n",
        ),
        (
            ("--on", "ptrace", *OUT),
            (
                "no recorder has the name ptrace (installed: perf, qemu, qemu-user); name one of those or reinstall"
                " linesmith"
            ),
        ),
        (
            ("--on", "qemu", "--kernel", "FOLDER/bzImage", *OUT[:-1], "no-such-thing"),
            "the command no-such-thing is neither in PATH nor an applet of busybox",
        ),
        (
            ("--on", "qemu", "--kernel", "FOLDER/bzImage", "-o", "FOLDER/bzImage", "--", "true"),
            "is an input of this command and is not replaced; name another file with -o",
        ),
        (
            ("--on", "qemu-user", "-o", "FOLDER/absent/profile", "--", "/bin/true"),
            (
                "cannot write FOLDER/absent/profile: the directory FOLDER/absent does not exist; create it, or name"
                " another file"
            ),
        ),
        (
            ("--on", "qemu-user", "--trace", "FOLDER/one", "-o", "FOLDER/one", "--", "/bin/true"),
            "FOLDER/one would be written twice; name different files\n",
        ),
        ((*OUT[:-1], "./nosuch"), "./nosuch is not found or cannot be run; give its path after --\n"),
        (("--smp", "4", "--numa", "3", *OUT), "--smp 4 cannot be divided among --numa 3"),
        (("--to", "f", *OUT), "--to needs --from"),
        (
            ("--append", "x", *OUT),
            "--vmlinux, --smp, --numa, --memory, --initrd, --overlay, --append need a --kernel to boot",
        ),
        (("--smp", "4", *OUT), "--append need a --kernel to boot"),
        (("--cache", "33K", *OUT), "--cache must be a power of two of at least 512 bytes, such as 32K or 1M"),
        (("--cache", "512", "--line-bytes", "128", *OUT), "--cache must be a power of two of at least 1024 bytes"),
        (("--memory", "much", *OUT), "'much' is not a size; write 512M or 2G"),
        (("--on", "perf", "--kernel", "/usr/bin/git", *OUT), "--on perf runs under the kernel of this machine"),
    ],
)
def test_an_order_that_cannot_be_carried_out(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    (tmp_path / "bzImage").write_bytes(BZIMAGE)
    said = refusal(*(word.replace("FOLDER", str(tmp_path)) for word in words))
    assert message.replace("FOLDER", str(tmp_path)) in said
