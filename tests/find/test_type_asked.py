# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith hot`` on a perf.data where one type is asked for, or where the ELF file is of another build."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from linesmith_command import linesmith
from perf_data import program_scenario
from perf_data.hardware import INTEL
from perf_data.program import Program
from perf_data.recording import write
from perf_data.write import program_recording

# An ELF note of type 3 (NT_GNU_BUILD_ID): lengths of the name and of the build-id, type, name, build-id.
NOTE = struct.pack("<3I4s20s", 4, 20, 3, b"GNU", bytes(range(20)))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    program = program_scenario.compiled(tmp_path_factory.mktemp("server"))
    write(program.with_name("perf.data"), program_recording(Program(program), INTEL, 4000, 1)[0])
    return program


def asked(server: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return linesmith("hot", server, server.with_name("perf.data"), *arguments)


def test_lines_known_to_hold_another_type_are_not_such_as_were_not_looked_at(server: Path) -> None:
    shown = " ".join(asked(server, "--type", "connection", "--top", "1").stdout.split())
    assert "not looked at" not in shown
    assert re.search(r"[\d,]+ on lines that do not hold the type asked for", shown)


def test_samples_are_all_looked_at_for_a_type_and_the_help_says_so(server: Path) -> None:
    assert asked(server, "--type", "connection", "--top", "1").stdout == asked(server, "--type", "connection").stdout
    told = " ".join(linesmith("hot", "--help").stdout.split())
    assert "With --type every line of samples that may hold one is looked at" in told


def test_types_that_may_be_asked_for_instead_are_also_those_of_variables(server: Path) -> None:
    """Lines in ``per_thread`` cannot hold the type, so that nobody looked for an object on them."""
    ran = asked(server, "--type", "nosuch")
    assert ran.returncode == 2
    missing = "no struct or union is called so in the debug information"
    assert ran.stderr.endswith(f"was found to hold nosuch: {missing}; found: connection, counters\n")


def test_a_slip_of_the_pen_in_the_type_gets_the_nearest_names(server: Path) -> None:
    ran = asked(server, "--type", "conection")
    assert "is called so in the debug information (did you mean connection?); found: connection" in ran.stderr


def test_another_build_is_refused_before_its_code_is_followed(server: Path, tmp_path: Path) -> None:
    other, cache = tmp_path / server.name, tmp_path / "cache"
    subprocess.run(
        ["objcopy", "--update-section", ".note.gnu.build-id=/dev/stdin", server, other], check=True, input=NOTE
    )
    ran = linesmith("hot", other, server.with_name("perf.data"), cache=cache)
    assert (ran.returncode, "was recorded on build-id" in ran.stderr) == (2, True)
    assert not list(cache.glob("*.access"))
    trusted = linesmith("hot", other, server.with_name("perf.data"), "--assume-same-layout", cache=cache)
    assert trusted.returncode == 0
    assert list(cache.glob("*.access"))
