# SPDX-License-Identifier: GPL-2.0-or-later
"""A repository that somebody else wrote: git reads its objects and its index, and runs or fetches nothing for it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from linesmith_command import LINESMITH
from lint_commits import Commits, repository

HEADER = "struct cache {\n\tlong root;\n\tlong uses;\n};\n"
GROWN = HEADER.replace("\tlong uses;\n", "\tlong uses;\n\tlong more[9];\n")


@pytest.fixture
def made(tmp_path: Path) -> Commits:
    return repository(tmp_path / "tree")


def commits(made: Commits, **further: str) -> tuple[str, str]:
    base = made.commit({"a.h": HEADER})
    head = made.commit({"a.h": GROWN, **{name.replace("__", "."): text for name, text in further.items()}}, base)
    made.git("reset", "-q", "--hard", head)
    return base, head


def changed(made: Commits, base: str, head: str = "HEAD") -> bool:
    """Whether the lint sees the one change of a record that there is."""
    done = made.lint(base, head)
    assert "Traceback" not in done.stderr
    return " 1 changed" in done.stdout


# Each names a program that git runs in some command.
KEYS = (
    "core.fsmonitor", "core.hooksPath", "core.sshCommand", "core.alternateRefsCommand", "core.pager",
    "core.editor", "core.gitProxy", "core.askPass", "gpg.program", "diff.external", "filter.x.clean",
    "filter.x.smudge", "filter.x.process", "diff.x.textconv", "diff.x.command", "merge.x.driver",
    "uploadpack.packObjectsHook", "credential.helper", "submodule.sub.update", "alias.rev-parse",
    "alias.ls-files", "pager.ls-files", "interactive.diffFilter", "remote.origin.vcs", "remote.origin.uploadpack",
    "trailer.x.command",
)  # fmt: skip
HOOKS = ("post-checkout", "post-index-change", "fsmonitor-watchman", "reference-transaction", "pre-auto-gc")


def leaving_a_trace(program: Path, trace: Path) -> None:
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\necho {program.name} >> {trace}\n")
    program.chmod(0o755)


def test_no_setting_no_hook_and_no_environment_variable_runs(
    made: Commits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, _ = commits(made, __gitattributes="* filter=x diff=x merge=x\n")
    made.git("config", "remote.origin.url", "ext::touch ran")
    made.git("config", "extensions.partialClone", "origin")
    for key in KEYS:
        program = tmp_path / "programs" / key
        leaving_a_trace(program, tmp_path / "ran")
        (made.root / ".git" / "config").open("a").write(_setting(key, program))
    for hook in HOOKS:
        leaving_a_trace(made.root / ".git" / "hooks" / hook, tmp_path / "ran")
    for name in ("GIT_DIR", "GIT_EXTERNAL_DIFF", "GIT_CONFIG_PARAMETERS", "GIT_EXEC_PATH", "GIT_TRACE"):
        monkeypatch.setenv(name, f"{tmp_path}/ran")
    assert changed(made, base)
    assert not (tmp_path / "ran").exists()


def _setting(key: str, program: Path) -> str:
    section, _, name = key.rpartition(".")
    first, _, second = section.partition(".")
    heading = f'[{first} "{second}"]' if second else f"[{first}]"
    return f"{heading}\n\t{name} = {'!' if first == 'alias' else ''}{program}\n"


def test_a_missing_object_is_not_fetched(made: Commits, tmp_path: Path) -> None:
    base, head = commits(made)
    blob = made.git("rev-parse", f"{head}:a.h")
    (made.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    made.git("config", "remote.origin.url", f"ext::touch {tmp_path}/ran")
    made.git("config", "remote.origin.promisor", "true")
    made.git("config", "extensions.partialClone", "origin")
    done = made.lint(base, head)
    assert not (tmp_path / "ran").exists()
    assert "missing in the repository" in done.stdout


def test_a_replacement_object_shows_no_other_text(made: Commits) -> None:
    base, head = commits(made)
    other = made.git("hash-object", "-w", "--stdin", given=HEADER.encode())
    made.git("replace", made.git("rev-parse", f"{head}:a.h"), other)
    assert changed(made, base, head)


def test_programs_and_modules_of_a_tree_are_not_ours(made: Commits, tmp_path: Path) -> None:
    """Neither is found by name: not git, make or a compiler, no Python module, and no plugin by entry point."""
    base, _ = commits(made)
    for name in ("git", "make", "cc", "gcc"):
        program = made.root / name
        program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        program.chmod(0o755)
    for name in ("msgspec.py", "sitecustomize.py", "usercustomize.py", "click.py", "evil.py"):
        (made.root / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    entry = made.root / "evil-1.dist-info"
    entry.mkdir()
    (entry / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1\n")
    (entry / "entry_points.txt").write_text("[linesmith.profiles]\nevil = evil:Evil\n")
    argv = [str(LINESMITH), "lint", "--base-ref", base]
    kept = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    environment = {**kept, "PATH": f".::{made.root.name}:/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(
        argv, cwd=made.root, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert " 1 changed" in done.stdout
    assert not (tmp_path / "ran").exists()
