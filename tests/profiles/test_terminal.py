# SPDX-License-Identifier: GPL-2.0-or-later
"""Names in a profile that would steer a terminal, or show a text backwards, come out of ``hot`` as plain characters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from c_source import compiled
from linesmith_command import linesmith
from profiles.c2c_text import LineSpec, ReportSpec, RowSpec, render
from profiles.example_files import perf_script

from linesmith.analyzer.model import Access, CacheLine, Profile
from linesmith.plugins.profiles.recorded import encode

EVIL = "take\x1b[31m_\u202etick\x07et\x9b2J"
# What a terminal acts upon, and what turns the direction of writing.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LINE = CacheLine(0, 0x1000, (Access(8, EVIL + "\n", hitm_local=3, kernel=False),), hitm_local=3)
_ROW = RowSpec(8, (1, 2, 3, 4, 5), 0x401000, EVIL, f"[v{EVIL}]", "a.c:1", ".")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = "struct pair { long first, second; };\nlong take(struct pair *p) { return p->second; }\n"
    return compiled(tmp_path_factory.mktemp("program"), source)


def written(folder: Path, kind: str) -> Path:
    """A profile of that kind with names that nobody should print as they are."""
    path = folder / kind
    match kind:
        case "report.txt":
            path.write_text(f"Title {EVIL}:\n" + render(ReportSpec((LineSpec(0x1000, (_ROW,)),))))
        case "script.txt":
            perf_script(path)
            path.write_text(path.read_text().replace("f+0x1", f"{EVIL}+0x1").replace("worker", "wor\u202e\x1b[2Jker"))
        case "profile.json":
            path.write_bytes(encode(Profile("", f"title {EVIL}", "hitm", (_LINE,))))
    return path


@pytest.mark.parametrize("kind", ["report.txt", "script.txt", "profile.json"])
@pytest.mark.parametrize("style", ["text", "json"])
def test_nothing_steers_the_terminal(kind: str, style: str, program: Path, tmp_path: Path) -> None:
    done = linesmith("hot", program, written(tmp_path, kind), "--full", "--format", style, cache=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not _STEERING.search(done.stdout + done.stderr)
    assert "\\u001b" not in done.stdout
    assert "take" in done.stdout, "names stay readable"


def test_file_name_in_a_message(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "no\x1b[31mprofile\u202e.txt"
    path.write_text("nothing\n")
    done = linesmith("hot", program, path, cache=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert not _STEERING.search(done.stderr)
