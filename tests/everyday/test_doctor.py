# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith doctor`` tells what is there, what is missing, and what would mend it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from linesmith_command import linesmith

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
    done = linesmith("doctor", "--format", "json", *words, env=environment)
    assert done.returncode in (0, 1), done.stderr
    return {one["name"]: one for one in json.loads(done.stdout)["checks"]}


def program(folder: Path, name: str, content: bytes) -> Path:
    """A program of that name, the only one in the folder."""
    made = folder / name
    made.write_bytes(content)
    made.chmod(0o755)
    return made


@pytest.mark.parametrize(
    ("script", "readiness", "found"),
    [
        (b"#!/bin/sh\necho ccache version 4.7.5\n", "ready", "ccache 4.7.5"),
        (b"#!/bin/sh\nkill -9 $$\n", "missing", "ccache is there and does not run"),
    ],
)
def test_a_program_has_its_release_or_does_not_run(tmp_path: Path, script: bytes, readiness: str, found: str) -> None:
    program(tmp_path, "ccache", script)
    check = examined(path=str(tmp_path))["ccache"]
    assert (check["readiness"], check["found"]) == (readiness, found)


def test_an_emulator_that_cannot_be_started_does_not_end_the_rest(tmp_path: Path) -> None:
    program(tmp_path, f"qemu-system-{os.uname().machine}", b"\x7fELF no program")
    found = examined(path=str(tmp_path))
    assert [found[name]["readiness"] for name in ("QEMU, whole machines", "KVM")] == ["missing"] * 2
    assert found["coccinelle"]["readiness"] == "missing"
    assert found["coccinelle"]["needed_by"] == ["encapsulate", "inline"]
    assert str(found["coccinelle"]["remedy"]).endswith("coccinelle")


def test_a_program_that_never_ends_is_not_waited_for(tmp_path: Path) -> None:
    assert ended(str(program(tmp_path, "ccache", b"#!/bin/sh\nexec sleep 1000\n")), seconds=1) is None


def test_every_check_says_what_it_is_for() -> None:
    found = examined()
    assert len(found) > 20
    assert all(one["purpose"] and one["found"] for one in found.values())


def test_each_program_is_told_once() -> None:
    titles, compilers = [one.title for one in PROGRAMS], [one.names for one in PROGRAMS]
    assert (len(set(titles)), len(set(compilers))) == (len(titles), len(compilers))


def test_the_status_tells_whether_what_was_asked_for_can_work(tmp_path: Path) -> None:
    done = linesmith("doctor", "inline", env={**os.environ, "PATH": "/no"})
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "inline: coccinelle is missing")
    short, whole = (linesmith("doctor", "--tree", tmp_path, *words) for words in ((), ("--all",)))
    assert (short.returncode, whole.returncode) == (0, 0)
    assert "  ready    cache" in whole.stdout
    assert "  ready    " not in short.stdout
    assert "cache" in short.stdout
    done = linesmith("doctor", "recrod")
    assert done.stderr == "linesmith doctor: there is no command recrod; did you mean record?\n"


def test_each_command_that_was_asked_for_gets_its_answer(tmp_path: Path) -> None:
    assert render_text((NEEDED,), ("inline", "patch")).splitlines()[-2:] == [
        "inline: coccinelle is missing",
        "patch: all it needs is here",
    ]
    assert render_text(tuple(sources(tmp_path, tmp_path)), ("patch", "layout")).splitlines()[-2:] == [
        "patch: all it needs of this machine is here; to work on, no kernel tree was found",
        "layout: all it needs is here",
    ]
    assert lacking((NEEDED,), ("inline",)) == ("coccinelle",)
    assert lacking((NEEDED,), ("layout", "record")) == ()


def test_a_long_answer_is_wrapped_below_where_it_begins() -> None:
    wordy = Check("record", "PMU", Readiness.MISSING, " ".join(["word"] * 25), " ".join(["use"] * 30))
    lines = render_text((wordy,), ()).splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[2] == " " * 16 + " ".join(["word"] * 8)
    assert lines[4].startswith(" " * 21 + "use")


def test_one_way_to_record_is_enough() -> None:
    emulator = Check("emulate", "QEMU, programs", Readiness.READY, "", "")
    plugin = Check("emulate", "plugin for QEMU", Readiness.READY, "", "")
    assert check((emulator, plugin)).found == "--on qemu-user"
    assert check((emulator,)).readiness is Readiness.MISSING


def test_the_event_of_c2c_is_known_by_the_devices_of_the_kernel(tmp_path: Path) -> None:
    for device, maker in (("cpu/events/mem-loads", "Intel"), ("ibs_op", "AMD"), ("arm_spe_0", "Arm")):
        (tmp_path / maker / device).mkdir(parents=True)
        assert events(tmp_path / maker).startswith(maker)
    assert events(tmp_path / "none") == ""


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


def test_a_tree_is_told_with_its_release_and_its_configuration(tmp_path: Path) -> None:
    (only,) = sources(tmp_path, tmp_path)
    assert (only.readiness, only.found) == (Readiness.MISSING, f"{tmp_path} is none")
    (tmp_path / "Kbuild").touch()
    (tmp_path / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 3\n")
    tree, configuration = sources(tmp_path, tmp_path)
    assert tree.found == f"Linux 6.12.3 in {tmp_path}"
    assert (configuration.readiness, configuration.remedy) == (Readiness.MISSING, f"make -C {tmp_path} defconfig")


def test_the_cache_is_told_with_its_size(tmp_path: Path) -> None:
    (tmp_path / "index").write_bytes(bytes(3 << 20))
    assert cache(tmp_path).found.startswith(f"{tmp_path}: 3 MiB used, ")
    assert cache(tmp_path / "index" / "cache").readiness is Readiness.MISSING


def test_the_text_has_state_purpose_and_remedy_and_of_what_is_ready_the_name() -> None:
    missing = (
        "change:\n"
        "  missing  coccinelle  not installed\n"
        "                       for: edits\n"
        "                       fix: install it\n"
    )
    assert render_text((NEEDED,), ()) == missing
    assert render_text((READY, NEEDED), ()) == (
        f"{missing}\nready: QEMU, programs (`linesmith doctor --all` tells of each)\n"
    )
    assert render_all((READY, NEEDED), ()).splitlines()[1:4] == [
        "  ready    QEMU, programs  qemu-x86_64 7.2",
        "                           for: records programs",
        "  missing  coccinelle      not installed",
    ]


def test_nothing_heavy_is_loaded_to_look_for_libraries() -> None:
    script = "import sys; from linesmith.analyzer.doctor import libraries; list(libraries.checks())\n"
    script += "print({'drgn', 'ortools', 'skopt', 'numpy', 'distributed', 'pyarrow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
