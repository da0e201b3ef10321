# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith doctor`` tells what is there, what is missing, and what would mend it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from linesmith_command import LINESMITH, linesmith

from linesmith.analyzer.doctor.distribution import Distribution
from linesmith.analyzer.doctor.places import cache, sources
from linesmith.analyzer.doctor.programs import PROGRAMS
from linesmith.analyzer.doctor.recorders import check
from linesmith.analyzer.doctor.running import ended
from linesmith.analyzer.doctor.sampling import events
from linesmith.analyzer.model import Check, Readiness
from linesmith.analyzer.report.doctor import lacking, render_all, render_text

DEBIAN = Distribution(("debian",), root=False)
READY = Check("change", "QEMU, programs", Readiness.READY, "qemu-x86_64 7.2", "records programs")
NEEDED = Check("change", "coccinelle", Readiness.MISSING, "not installed", "edits", "install it", ("inline",))


def examined(*words: str, path: str | None = None) -> dict[str, dict[str, object]]:
    """The checks by name as the command tells them, with programs of ``path`` alone."""
    environment = {**os.environ, "PATH": path if path is not None else os.environ["PATH"]}
    done = subprocess.run(
        [LINESMITH, "doctor", "--format", "json", *words], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode in (0, 1), done.stderr
    return {one["name"]: one for one in json.loads(done.stdout)["checks"]}


def test_a_program_is_told_with_its_release(tmp_path: Path) -> None:
    program = tmp_path / "ccache"
    program.write_text("#!/bin/sh\necho ccache version 4.7.5\n")
    program.chmod(0o755)
    found = examined(path=str(tmp_path))["ccache"]
    assert (found["readiness"], found["found"]) == ("ready", "ccache 4.7.5")


def test_a_program_that_is_killed_is_not_ready(tmp_path: Path) -> None:
    program = tmp_path / "ccache"
    program.write_text("#!/bin/sh\nkill -9 $$\n")
    program.chmod(0o755)
    found = examined(path=str(tmp_path))["ccache"]
    assert (found["readiness"], found["found"]) == ("missing", "ccache is there and does not run")


def test_an_emulator_that_cannot_be_started_does_not_end_the_rest(tmp_path: Path) -> None:
    program = tmp_path / f"qemu-system-{os.uname().machine}"
    program.write_bytes(b"\x7fELF no program")
    program.chmod(0o755)
    found = examined(path=str(tmp_path))
    assert found["QEMU, whole machines"]["readiness"] == "missing"
    assert found["KVM"]["readiness"] == "missing"


def test_a_program_that_never_ends_is_not_waited_for(tmp_path: Path) -> None:
    program = tmp_path / "ccache"
    program.write_text("#!/bin/sh\nexec sleep 1000\n")
    program.chmod(0o755)
    assert ended(str(program), seconds=1) is None


def test_what_is_missing_comes_with_the_command_that_installs_it() -> None:
    found = examined(path="/nowhere")
    assert found["coccinelle"]["readiness"] == "missing"
    assert found["coccinelle"]["needed_by"] == ["encapsulate", "inline"]
    assert str(found["coccinelle"]["remedy"]).endswith("coccinelle")


def test_every_check_says_what_it_is_for() -> None:
    found = examined()
    assert len(found) > 20
    assert all(one["purpose"] and one["found"] for one in found.values())


def test_each_program_is_told_once() -> None:
    titles, compilers = [one.title for one in PROGRAMS], [one.names for one in PROGRAMS]
    assert (len(set(titles)), len(set(compilers))) == (len(titles), len(compilers))


def test_status_1_tells_that_what_was_asked_for_cannot_work() -> None:
    done = subprocess.run(
        [LINESMITH, "doctor", "inline"], capture_output=True, text=True, check=False, env={**os.environ, "PATH": "/no"}
    )
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "inline: coccinelle is missing"


def test_status_0_where_nothing_was_asked_for(tmp_path: Path) -> None:
    assert linesmith("doctor", "--tree", tmp_path).returncode == 0


def test_each_command_that_was_asked_for_gets_its_answer() -> None:
    assert render_text((NEEDED,), ("inline", "patch")).splitlines()[-2:] == [
        "inline: coccinelle is missing",
        "patch: all it needs is here",
    ]


def test_a_command_without_a_tree_to_work_on_is_told_so(tmp_path: Path) -> None:
    told = render_text(tuple(sources(tmp_path, tmp_path)), ("patch", "layout")).splitlines()[-2:]
    assert told == [
        "patch: all it needs of this machine is here; to work on, no kernel tree was found",
        "layout: all it needs is here",
    ]


def test_a_long_answer_is_wrapped_below_where_it_begins() -> None:
    wordy = Check("record", "PMU", Readiness.MISSING, " ".join(["word"] * 25), " ".join(["use"] * 30))
    lines = render_text((wordy,), ()).splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[2] == " " * 16 + " ".join(["word"] * 8)
    assert lines[4].startswith(" " * 21 + "use")


def test_what_another_command_needs_does_not_count() -> None:
    assert lacking((NEEDED,), ("inline",)) == ("coccinelle",)
    assert lacking((NEEDED,), ("layout", "record")) == ()


def test_a_name_that_is_no_command_is_refused() -> None:
    done = linesmith("doctor", "recrod")
    assert done.stderr == "linesmith doctor: there is no command recrod; did you mean record?\n"


def test_one_way_to_record_is_enough() -> None:
    emulator = Check("emulate", "QEMU, programs", Readiness.READY, "", "")
    plugin = Check("emulate", "plugin for QEMU", Readiness.READY, "", "")
    assert check((emulator, plugin)).found == "--on qemu-user"
    assert check((emulator,)).readiness is Readiness.MISSING


@pytest.mark.parametrize(
    ("device", "maker"), [("cpu/events/mem-loads", "Intel"), ("ibs_op", "AMD"), ("arm_spe_0", "Arm")]
)
def test_the_event_of_c2c_is_told_by_the_devices_of_the_kernel(tmp_path: Path, device: str, maker: str) -> None:
    (tmp_path / device).mkdir(parents=True)
    assert events(tmp_path).startswith(maker)


def test_no_such_device_is_no_event(tmp_path: Path) -> None:
    assert events(tmp_path) == ""


@pytest.mark.parametrize(
    ("words", "root", "command"),
    [
        (("debian",), True, "apt-get install linux-perf"),
        (("debian",), False, "sudo apt-get install linux-perf"),
        (("ubuntu", "debian"), False, "sudo apt-get install linux-tools-generic linux-tools-$(uname -r)"),
        (("fedora",), False, "sudo dnf install perf"),
        (("arch",), False, "sudo pacman -S perf"),
        (("opensuse-leap", "suse", "opensuse"), False, "sudo zypper install perf"),
        (("other",), False, "install the package that Debian calls linux-perf"),
    ],
)
def test_each_distribution_has_its_own_command(words: tuple[str, ...], root: bool, command: str) -> None:
    assert Distribution(words, root).install("linux-perf") == command


def test_a_tree_without_configuration_gets_the_command_that_makes_one(tmp_path: Path) -> None:
    (tmp_path / "Kbuild").touch()
    (tmp_path / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 3\n")
    tree, configuration = sources(tmp_path, tmp_path)
    assert tree.found == f"Linux 6.12.3 in {tmp_path}"
    assert (configuration.readiness, configuration.remedy) == (Readiness.MISSING, f"make -C {tmp_path} defconfig")


def test_a_folder_that_is_no_tree_is_told(tmp_path: Path) -> None:
    (only,) = sources(tmp_path, tmp_path)
    assert (only.readiness, only.found) == (Readiness.MISSING, f"{tmp_path} is none")


def test_the_cache_is_told_with_its_size(tmp_path: Path) -> None:
    (tmp_path / "index").write_bytes(bytes(3 << 20))
    assert cache(tmp_path).found.startswith(f"{tmp_path}: 3 MiB used, ")


def test_a_cache_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert cache(tmp_path / "file" / "cache").readiness is Readiness.MISSING


def test_of_what_is_ready_the_name_is_told() -> None:
    assert render_text((READY, NEEDED), ()).splitlines() == [
        *render_text((NEEDED,), ()).splitlines(),
        "",
        "ready: QEMU, programs (`linesmith doctor --all` tells of each)",
    ]


def test_all_tells_what_was_found_of_each() -> None:
    assert render_all((READY, NEEDED), ()).splitlines()[1:4] == [
        "  ready    QEMU, programs  qemu-x86_64 7.2",
        "                           for: records programs",
        "  missing  coccinelle      not installed",
    ]


def test_the_command_tells_all_where_it_is_asked_to(tmp_path: Path) -> None:
    short, whole = (linesmith("doctor", "--tree", tmp_path, *words).stdout for words in ((), ("--all",)))
    assert "  ready    cache" in whole
    assert "  ready    " not in short
    assert "cache" in short


def test_the_text_has_state_purpose_and_remedy() -> None:
    assert render_text((NEEDED,), ()) == (
        "change:\n"
        "  missing  coccinelle  not installed\n"
        "                       for: edits\n"
        "                       fix: install it\n"
    )


def test_nothing_heavy_is_loaded_to_look_for_libraries() -> None:
    script = "import sys; from linesmith.analyzer.doctor import libraries; list(libraries.checks())\n"
    script += "print({'drgn', 'ortools', 'skopt', 'numpy', 'distributed', 'pyarrow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
