# SPDX-License-Identifier: GPL-2.0-or-later
"""The first file system of a guest, read back with the system's own cpio."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from linesmith.analyzer.errors import ToolMissing
from linesmith.plugins.machines.guest_files import Contents, initramfs, plan
from linesmith.plugins.machines.guest_init import recording_init

MACHINE = os.uname().machine
BUSYBOX = "/usr/bin/busybox"


def unpack(archive: bytes, folder: Path) -> Path:
    """The archive's files below ``folder``; devices need root and are left out elsewhere."""
    folder.mkdir()
    subprocess.run([BUSYBOX, "cpio", "-idm"], input=archive, cwd=folder, capture_output=True, check=os.getuid() == 0)
    return folder


def files_of(contents: Contents, folder: Path) -> Path:
    """What the guest's init makes of the files inside."""
    outer = unpack(initramfs(contents, {"init": b""}, "ttyS1"), folder / "outer")
    return unpack((outer / "linesmith/files.cpio").read_bytes(), folder / "inner")


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()}


def test_a_line_for_the_shell_may_be_longer_than_any_name(tmp_path: Path) -> None:
    line = "true;" * 100 + "/usr/bin/git --version"
    assert Path("/usr/bin/git") in plan((("sh", "-c", line),), MACHINE, None, tmp_path).programs


def test_the_archive_holds_a_shell_and_our_own_programs(tmp_path: Path) -> None:
    contents = plan((("true",),), MACHINE, None, tmp_path)
    outer = unpack(initramfs(contents, {"init": b"#!", "start": b""}, "ttyS1"), tmp_path / "outer")
    found = {path.name for path in (outer / "linesmith").iterdir()}
    assert found == {"init", "busybox", "start", "files.cpio"}
    assert os.access(outer / "linesmith/init", os.X_OK)


def test_init_runs_the_command_between_the_markers() -> None:
    init = recording_init(("sh", "-c", "echo 'a  b' $HOME"), "/", "ttyS1").decode()
    begin = init.index("/linesmith/start\n")
    assert init[begin:].startswith(
        "/linesmith/start\nsh -c 'echo '\"'\"'a  b'\"'\"' $HOME' 3>&-\nstatus=$?\n/linesmith/stop\n"
    )


def test_programs_are_found_in_path_or_from_where_the_user_is_and_come_once(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("#!/bin/sh\n")
    (tmp_path / "run").chmod(0o755)
    contents = plan((("git", "--version"), ("seq", "3"), ("git", "status"), ("./run",)), MACHINE, None, tmp_path)
    git = "/usr/bin/git"
    assert contents.commands == ((git, "--version"), ("seq", "3"), (git, "status"), (str(tmp_path / "run"),))
    assert contents.programs.count(Path(git)) == 1


def test_a_program_comes_with_its_loader_and_an_applet_of_busybox_with_nothing(tmp_path: Path) -> None:
    assert names(files_of(plan((("seq", "3"),), MACHINE, None, tmp_path), tmp_path)) == set()
    (tmp_path / "other").mkdir()
    found = names(files_of(plan((("/usr/bin/gcc", "--version"),), MACHINE, None, tmp_path), tmp_path / "other"))
    assert {"usr/bin/gcc", str(Path("/usr/bin/gcc").resolve())[1:]} <= found
    assert any(name.startswith(("lib64/ld-", "lib/ld-")) for name in found)


def test_files_that_a_line_for_the_shell_names_come_along(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("content")
    contents = plan(
        (("sh", "-c", f"/usr/bin/git --version;cat <{tmp_path}/input >/dev/null"),), MACHINE, None, tmp_path
    )
    folder = tmp_path / "inside"
    folder.mkdir()
    inner = files_of(contents, folder)
    assert (inner / "usr/bin/git").is_file()
    assert (inner / str(tmp_path / "input")[1:]).read_text() == "content"


def test_the_overlay_stands_in_for_what_would_be_taken_from_here(tmp_path: Path) -> None:
    overlay = tmp_path / "overlay"
    (overlay / "usr/bin").mkdir(parents=True)
    (overlay / "bin").symlink_to("usr/bin")
    (overlay / "usr/bin/git").write_text("#!/bin/sh\n")
    (overlay / "usr/bin/git").chmod(0o750)
    inner = files_of(plan((("/usr/bin/git",),), MACHINE, overlay, tmp_path), tmp_path)
    assert names(inner) == {"bin", "usr/bin/git"}
    assert (inner / "usr/bin/git").stat().st_mode & 0o777 == 0o750
    assert (inner / "bin").readlink() == Path("usr/bin")


@pytest.mark.parametrize(
    ("command", "machine", "why"),
    [
        ("no-such-thing", MACHINE, "no-such-thing is neither in PATH nor an applet of busybox; name its path"),
        ("./text", MACHINE, r"\./text cannot be run here; name a program"),
        ("true", "aarch64", "a static busybox for aarch64; put one at bin/busybox into a folder"),
    ],
)
def test_a_command_that_cannot_be_run_in_the_guest(tmp_path: Path, command: str, machine: str, why: str) -> None:
    (tmp_path / "text").write_text("no program")
    with pytest.raises(ToolMissing, match=why):
        plan(((command,),), machine, None, tmp_path)
