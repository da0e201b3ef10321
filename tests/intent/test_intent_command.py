# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith intent`` as a user meets it; what docs/intent.md shows is run by the tests of documents."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path

import pytest
from c_source import compiled
from linesmith_command import linesmith
from said_tables import Case, cases, filled
from tuning.project import BRIEF, project, tuned

pytestmark = pytest.mark.xdist_group("intent-command")

PIPE = "struct pipe { long head, tail; char name[28]; } pipe;"
TEXTS = {
    "PIPE": PIPE,
    "FOUR": "struct pipe { long head, tail, ops; char name[64]; } pipe;",
    "ENTRY": '[[type]]\nname = "pipe"\nreason = "r"',
    "WIDE": 'configuration = ["CONFIG_WIDE"]\n[type.budget]\nbytes = 8',
}


@pytest.mark.parametrize("case", cases(Path(__file__).with_name("commands.txt")), ids=str)
def test_what_is_said_of_a_build_and_its_intents(tmp_path: Path, case: Case) -> None:
    (tmp_path / "wide").write_text("CONFIG_WIDE=y\n")
    (tmp_path / "narrow").write_text("# CONFIG_WIDE is not set\n")
    (tmp_path / "config.gz").write_bytes(gzip.compress(b"CONFIG_WIDE=y\n"))
    (tmp_path / "linesmith.toml").write_text("\n".join(filled(line, TEXTS) for line in case.all("i")))
    source = filled(" ".join(case.all("+")), TEXTS).replace("{folder}", str(tmp_path))
    options = " ".join(case.all("$")).format(folder=tmp_path).split()
    case.check(linesmith("intent", compiled(tmp_path, source), "--check", "--tree", tmp_path, *options))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tree, its build, a finished run, and ``best.patch``."""
    folder = project(tmp_path_factory.mktemp("project"))
    result = tuned(folder / "run", folder, BRIEF)
    (folder / "best.patch").write_bytes((folder / "run" / dict(result.patches)[result.best or ""]).read_bytes())
    subprocess.run(["cc", "-g", "-O1", "-pthread", "-o", folder / "queue", folder / "tree" / "queue.c"], check=True)
    return folder


def test_a_run_tells_what_its_best_variant_parts_which_the_tree_breaks(run: Path, tmp_path: Path) -> None:
    done = linesmith("intent", run / "queue", "queue", "--from", run / "run", "--into", tmp_path / "linesmith.toml")
    text = (tmp_path / "linesmith.toml").read_text()
    assert (done.returncode, done.stderr) == (0, "")
    assert "profile of the run on tree: 1 line holds a struct queue, with " in text
    assert "; measured: command value, 1 thread: -50.0% (-50.0% to -50.0%)" in text
    (isolation,) = (part for part in text.split("\n\n") if part.startswith("[[type.isolate]]"))
    assert {'"head"', '"tail"'} == {line.partition("[")[2].strip("]") for line in isolation.split("\n")[1:3]}

    (tmp_path / "patched").mkdir()
    for name in ("queue.h", "queue.c"):
        (tmp_path / "patched" / name).write_text((run / "tree" / name).read_text())
    subprocess.run(["patch", "-s", "-p1", "-i", run / "best.patch"], cwd=tmp_path / "patched", check=True)
    subprocess.run(["cc", "-g", "-pthread", "-o", "queue", "queue.c"], cwd=tmp_path / "patched", check=True)
    before = linesmith("intent", run / "queue", "--check", "--tree", tmp_path)
    after = linesmith("intent", tmp_path / "patched" / "queue", "--check", "--tree", tmp_path)
    assert (before.returncode, "[isolation-broken]" in before.stdout) == (1, True)
    assert (after.returncode, after.stdout) == (0, "no violations in 1 record, 1 watched\n")
