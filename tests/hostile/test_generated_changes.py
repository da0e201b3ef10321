# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes of a grammar, under a tracer: none runs, opens or shows what it must not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hostile.traced import COMMANDS, Attack, breaches, built, strangers

from linesmith.patches.build.confinement import is_confinable

pytestmark = [
    pytest.mark.xdist_group("generated changes"),
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed"),
    pytest.mark.skipif(not is_confinable(), reason="this kernel has no Landlock"),
]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("example").resolve())


ALL = [pytest.param(number, COMMANDS, marks=pytest.mark.study) for number in range(12)]


@pytest.mark.parametrize(("number", "commands"), [(0, COMMANDS[::3]), *ALL])
def test_no_command_does_what_a_change_wants(bench: Path, number: int, commands: tuple[str, ...]) -> None:
    assert breaches(bench, number, commands) == []


def test_the_tracer_sees_what_is_opened_and_run(bench: Path, tmp_path: Path) -> None:
    attack = Attack(tmp_path.resolve(), 0, bench)
    tree = attack.kernel[0].root
    trace = attack.traced(["sh", "-c", f"cat {attack.outside}/secret; {attack.outside}/gcc"], b"", tree)[1]
    found = {one.replace(str(attack.outside), "") for one in strangers(trace, attack.allowed(tree))}
    assert {"opened /secret", "opened /ran", "ran /gcc"} <= found
