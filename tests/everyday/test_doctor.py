# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith doctor`` tells what is there, what is missing, and what would mend it."""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pytest
from c_source import compiled
from linesmith_command import linesmith

from linesmith.analyzer import model
from linesmith.analyzer.cli import GROUPS
from linesmith.analyzer.doctor import examine
from linesmith.analyzer.doctor.examine import events, recording_check
from linesmith.analyzer.model import Check, Readiness


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
        (b"#!/bin/sh\nkill -9 $$\n", "missing", "ccache is installed but does not run"),
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


@pytest.mark.parametrize(
    ("words", "user", "command"),
    [
        (("debian",), 0, "apt-get install linux-perf"),
        (("debian",), 1, "sudo apt-get install linux-perf"),
        (("ubuntu", "debian"), 1, "sudo apt-get install linux-tools-generic linux-tools-$(uname -r)"),
        (("other",), 1, "install the package that Debian calls linux-perf"),
    ],
)
def test_a_package_has_a_command_or_a_name(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], user: int, command: str
) -> None:
    monkeypatch.setattr(examine, "distribution", lambda: words)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert examine.install("linux-perf") == command


def test_a_tree_is_told_with_its_release_and_its_configuration(tmp_path: Path) -> None:
    assert examined("--tree", str(tmp_path))["kernel tree"]["found"] == f"{tmp_path} is none"
    (tmp_path / "Kbuild").touch()
    (tmp_path / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 3\n")
    found = examined("--tree", str(tmp_path))
    assert found["kernel tree"]["found"] == f"Linux 6.12.3 in {tmp_path}"
    configuration = found["configuration"]
    assert (configuration["readiness"], configuration["remedy"]) == ("missing", f"make -C {tmp_path} defconfig")


def test_the_cache_is_told_with_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "index").write_bytes(bytes(3 << 20))
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path))
    assert str(examined()["cache"]["found"]).startswith(f"{tmp_path}: 3 MiB used, ")
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "index" / "cache"))
    assert examined()["cache"]["readiness"] == "missing"


def test_the_text_of_what_is_missing_has_its_purpose_and_its_remedy(tmp_path: Path) -> None:
    done = linesmith("doctor", "inline", "--tree", tmp_path, "layout", env={**os.environ, "PATH": "/no"})
    shown = done.stdout.partition("  missing  coccinelle")[2].splitlines()
    assert [row.split()[0] for row in shown[1:3]] == ["for:", "fix:"], done.stdout
    assert done.stdout.splitlines()[-2:] == ["inline: coccinelle is missing", "layout: all it needs is here"]


def test_a_program_that_never_ends_is_not_waited_for(tmp_path: Path) -> None:
    assert examine.ended(str(program(tmp_path, "ccache", b"#!/bin/sh\nexec sleep 1000\n")), seconds=1) is None


def test_one_way_to_record_is_enough() -> None:
    emulator = Check("emulate", "QEMU, programs", Readiness.READY, "", "")
    plugin = Check("emulate", "plugin for QEMU", Readiness.READY, "", "")
    assert recording_check((emulator, plugin)).found == "--on qemu-user"
    assert recording_check((emulator,)).readiness is Readiness.MISSING


def test_the_event_of_c2c_is_known_by_the_devices_of_the_kernel(tmp_path: Path) -> None:
    for device, maker in (("cpu/events/mem-loads", "Intel"), ("ibs_op", "AMD"), ("arm_spe_0", "Arm")):
        (tmp_path / maker / device).mkdir(parents=True)
        assert events(tmp_path / maker).startswith(maker)
    assert events(tmp_path / "none") == ""


def test_nothing_heavy_is_loaded_to_look_for_libraries() -> None:
    script = "import sys; from linesmith.analyzer.doctor.examine import library_checks; list(library_checks())\n"
    script += "print({'drgn', 'skopt', 'numpy', 'distributed', 'pyarrow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


# What a command loads before it has work: nothing that makes it start slowly


HEAVY = frozenset(
    (
        *("numpy", "scipy", "rich", "msgspec", "jinja2", "tree_sitter", "platformdirs", "drgn", "sqlite3"),
        *("asyncio", "multiprocessing", "tomllib", "json", "importlib.metadata", "ctypes", "subprocess"),
        *("linesmith.analyzer._native", "linesmith.tuner._replay", "linesmith.analyzer.layouts.dwarf"),
        *("linesmith.plugins.registry", "linesmith.analyzer.model.run", "linesmith.analyzer.model.profile"),
    )
)
COMMANDS = [name for names in GROUPS.values() for name in names]


# What only profiles, access maps and judgements need.
NUMBERS = frozenset(("numpy", "scipy"))
# Runs each of LINES in a fork, and prints all modules that are loaded then.
SCRIPT = """
import os, sys
from linesmith.analyzer.cli import main
for words in LINES:
    child = os.fork()
    if child == 0:
        written = os.dup(1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        sys.argv = ["linesmith", *words]
        try:
            main()
        finally:
            os.write(written, (" ".join(sys.modules) + "\\n").encode())
            os._exit(0)
    os.waitpid(child, 0)
"""


def loaded(*lines: Sequence[str]) -> list[set[str]]:
    """Every module that is loaded once the command line has done what each says."""
    script = f"LINES = {lines!r}\n{SCRIPT}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    found = [set(line.split()) for line in done.stdout.splitlines()]
    assert len(found) == len(lines), done.stderr
    return found


def test_help_and_a_wrong_option_load_nothing_heavy_and_no_other_command() -> None:
    lines = [*([name, "--help"] for name in COMMANDS), ["--help"], ["hot", "--no-such-option"]]
    found = loaded(*lines)
    assert {" ".join(line): sorted(one & HEAVY) for line, one in zip(lines, found, strict=True) if one & HEAVY} == {}
    for name, one in zip(COMMANDS, found, strict=False):
        assert [other for other in COMMANDS if f"linesmith.analyzer.cli.{other}" in one] == [name]


def test_what_asks_for_layouts_alone_computes_nothing(tmp_path: Path) -> None:
    old, new = (str(compiled(tmp_path, f"struct s {{ {kind} a; }} s;", name=kind)) for kind in ("int", "long"))
    base = ["lint", "--base", old, "--head", new]
    for found in loaded(["layout", old, "s"], ["diff", old, new], ["slab", old, "s"], base, ["index", old]):
        assert "linesmith.analyzer.layouts.dwarf" in found
        assert found & NUMBERS == set()


def test_the_model_offers_every_name_of_its_files() -> None:
    for file in pkgutil.iter_modules(model.__path__, f"{model.__name__}."):
        for name, value in vars(import_module(file.name)).items():
            if not name.startswith("_") and getattr(value, "__module__", file.name) == file.name:
                assert getattr(model, name) is value
