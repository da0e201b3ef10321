# SPDX-License-Identifier: GPL-2.0-or-later
"""A compiler that is confined reads the sources that it is given, and nothing else, whatever they ask for."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from linesmith.analyzer.base.child import Command, Ended, run
from linesmith.analyzer.base.errors import VerificationFailed
from linesmith.patches.build.confinement import Confinement, is_confinable
from linesmith.patches.build.probe import check_reads

needs_landlock = pytest.mark.skipif(not is_confinable(), reason="this kernel has no Landlock")
HIDDEN = "squeamish ossifrage"
FRONTS = tomllib.loads(Path(__file__).with_name("sources").joinpath("fronts.toml").read_text())


def compile_(folder: Path, text: str, *options: str) -> Ended:
    """Compile ``text`` where only ``folder/work`` can be reached; ``HIDDEN`` lies in ``folder/secret``."""
    work = folder / "work"
    work.mkdir()
    (folder / "secret").write_text(f"{HIDDEN}\n")
    (work / "a.c").write_text(text.replace("SECRET", str(folder / "secret")))
    argv = ("gcc", "-g", *options, "-c", "-o", str(work / "a.o"), str(work / "a.c"))
    return run(Command(argv, work, 60, Confinement((work,), (work,))))


@needs_landlock
def test_what_is_needed_is_reached(tmp_path: Path) -> None:
    done = compile_(tmp_path, '#include <stdio.h>\n#include <stddef.h>\nint f(void) { asm("nop"); return 0; }\n')
    assert (done.status, done.output) == (0, "")


@needs_landlock
@pytest.mark.parametrize("text", FRONTS["compiled"])
def test_nothing_else_is(tmp_path: Path, text: str) -> None:
    (tmp_path / "link.h").symlink_to(tmp_path / "secret")
    done = compile_(tmp_path, text.replace("LINK", f"{tmp_path}/link.h"), "-trigraphs")
    assert done.status
    assert "ossifrage" not in done.output
    assert not (tmp_path / "work" / "a.o").exists()


def test_without_confinement_it_would_be(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{HIDDEN}\n")
    (tmp_path / "a.c").write_text(f'#include "{tmp_path}/secret"\n')
    assert "ossifrage" in run(Command(("gcc", "-c", str(tmp_path / "a.c")), tmp_path, 60)).output


@needs_landlock
def test_nothing_is_written_elsewhere(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    within = Confinement((), (folder,))
    done = run(Command(("cp", "/usr/bin/env", str(tmp_path / "out")), folder, 60, within))
    assert done.status
    assert run(Command(("cp", "/usr/bin/env", str(folder / "out")), folder, 60, within)).status == 0


def test_memory_has_a_limit(tmp_path: Path) -> None:
    done = run(Command(("sh", "-c", "ulimit -v"), tmp_path, 60, Confinement((), (tmp_path,))))
    assert int(done.output) <= 4 << 20


@pytest.mark.parametrize(
    "text", ['#include "SECRET"\n', '#define W "SECRET"\n#include W\n', "#include MISSING\n", '#include "b c.h"\n']
)
def test_without_landlock_what_is_included_is_looked_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Headers of the system and of the sources may be read."""
    monkeypatch.setattr("linesmith.patches.build.probe.is_confinable", lambda: False)
    (tmp_path / "secret").write_text(f"{HIDDEN}\n")
    (work := tmp_path / "work").mkdir()
    (work / "b c.h").write_text("")
    (work / "a.c").write_text("#include <stdio.h>\n" + text.replace("SECRET", str(tmp_path / "secret")))
    words = ("gcc", "-c", "-o", str(work / "a.o"), str(work / "a.c"))
    command = Command(words, work, 60, Confinement((work,), (work,)))
    if "b c.h" in text:
        check_reads(command, work / "list")
        return
    with pytest.raises(VerificationFailed) as raised:
        check_reads(command, work / "list")
    assert "ossifrage" not in str(raised.value)
