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


def bzimage(folder: Path) -> Path:
    """A file with the marks of a bzImage and nothing in it to boot."""
    head = bytearray(0x400)
    head[0x202:0x206] = b"HdrS"
    (folder / "bzImage").write_bytes(head)
    return folder / "bzImage"


def test_a_machine_needs_a_kernel(tmp_path: Path) -> None:
    said = refusal("--on", "qemu", "-o", tmp_path / "profile", "--", "true")
    assert said == "linesmith: recording on qemu boots a kernel; name one with --kernel (such as /boot/vmlinuz-*)\n"


def test_a_text_is_no_kernel(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no kernel")
    said = refusal("--on", "qemu", "--kernel", tmp_path / "text", "-o", tmp_path / "profile", "--", "true")
    assert "text is no kernel that can be booted; give --kernel the bzImage" in said


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x1f\x8b\x08".ljust(10, b"\0") + b"\xff" * 5, "cannot be read (Error -3 while decompressing data"),
        (b"".ljust(0x202, b"\0") + b"HdrS", "qemu-system-x86_64 is not installed"),
    ],
    ids=["damaged gzip", "cut off behind its mark"],
)
def test_a_damaged_kernel_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, message: str
) -> None:
    (tmp_path / "kernel").write_bytes(content)
    monkeypatch.setenv("PATH", str(tmp_path))
    said = refusal("--on", "qemu", "--kernel", tmp_path / "kernel", "-o", tmp_path / "profile", "--", "true")
    assert message in said


def test_a_program_is_no_kernel(tmp_path: Path) -> None:
    said = refusal("--on", "qemu", "--kernel", "/usr/bin/git", "-o", tmp_path / "profile", "--", "true")
    assert "/usr/bin/git is an ELF file without an entry for virtual machines; give --kernel the bzImage" in said


def test_without_qemu_its_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = refusal("--on", "qemu", "--kernel", bzimage(tmp_path), "-o", tmp_path / "profile", "--", "true")
    assert said == "linesmith: qemu-system-x86_64 is not installed; install the package qemu-system-x86\n"


def test_without_any_recorder_each_reason_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = refusal("-o", tmp_path / "profile", "--", "/bin/true")
    assert said == (
        "linesmith: nothing here can record: not on perf: perf is not installed (package linux-perf); not on "
        "qemu-user: qemu-x86_64 is not installed; install the package qemu-user; not on qemu: no kernel to boot was "
        "named (--kernel)\n"
    )


def test_an_unknown_recorder_is_told_with_those_there_are(tmp_path: Path) -> None:
    said = refusal("--on", "ptrace", "-o", tmp_path / "profile", "--", "true")
    assert said == (
        "linesmith: no recorder is called ptrace (installed: perf, qemu, qemu-user); name one of those or reinstall "
        "linesmith\n"
    )


def test_an_unknown_command_is_told(tmp_path: Path) -> None:
    said = refusal("--on", "qemu", "--kernel", bzimage(tmp_path), "-o", tmp_path / "profile", "--", "no-such-thing")
    assert "the command no-such-thing is neither in PATH nor an applet of busybox" in said


def test_the_profile_never_replaces_the_kernel(tmp_path: Path) -> None:
    kernel = bzimage(tmp_path)
    said = refusal("--on", "qemu", "--kernel", kernel, "-o", kernel, "--", "true")
    assert "is what this command reads and stays as it is; name another file with -o" in said


def test_a_place_that_cannot_be_written_is_told_before_the_run(tmp_path: Path) -> None:
    said = refusal("--on", "qemu-user", "-o", tmp_path / "absent/profile", "--", "/bin/true")
    missing = f"the folder {tmp_path}/absent is not there; make it, or name another file"
    assert said == f"linesmith: cannot write {tmp_path}/absent/profile: {missing}\n"


def test_two_results_in_one_file_are_refused(tmp_path: Path) -> None:
    said = refusal("--on", "qemu-user", "--trace", tmp_path / "one", "-o", tmp_path / "one", "--", "/bin/true")
    assert said == f"linesmith: {tmp_path}/one would be written twice; name different files\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--smp", "4", "--numa", "3"), "--smp 4 cannot be divided among --numa 3"),
        (("--to", "f"), "--to needs --from: a region that ends must begin"),
        (
            ("--append", "x"),
            "--vmlinux, --smp, --numa, --memory, --initrd, --overlay, --append go with a --kernel to boot",
        ),
        (("--smp", "4"), "--append go with a --kernel to boot"),
        (("--cache", "33K"), "--cache is a power of two from 512 bytes on, such as 32K or 1M"),
        (("--cache", "512", "--line-bytes", "128"), "--cache is a power of two from 1024 bytes on"),
        (("--memory", "much"), "'much' is no size; write 512M or 2G"),
        (("--on", "perf", "--kernel", "/usr/bin/git"), "--on perf runs under the kernel of this machine"),
    ],
)
def test_options_that_contradict_each_other_are_refused(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    assert message in refusal(*words, "-o", tmp_path / "profile", "--", "/bin/true")


def test_a_program_that_is_not_there_is_told_before_the_recorders(tmp_path: Path) -> None:
    said = refusal("-o", tmp_path / "profile", "--", "./nosuch")
    assert said == "linesmith: ./nosuch is not found or cannot be run; name its path behind --\n"
