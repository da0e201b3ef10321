# SPDX-License-Identifier: GPL-2.0-or-later
"""Revisions and repositories that somebody made to run a command or to read a file: none of them does.

Of a repository git reads its objects and its index, and runs or fetches nothing for it.
"""

from __future__ import annotations

import os
import subprocess
import tomllib
from pathlib import Path

import pytest
from linesmith_command import LINESMITH
from lint_commits import LINK, MODULE, Commits, Entry, repository
from matrix.small_kernel import FILES, HEADER

from linesmith.patches.build.confinement import is_confinable

Files = dict[str, str | bytes | Entry]

HIDDEN = "ossifrage"
CACHE = "struct cache {\n\tlong uses;\n\tlong hits;\n};\n"


FRONTS = tomllib.loads(Path(__file__).with_name("sources").joinpath("fronts.toml").read_text())


class Attempt:
    """A repository with a good base, a file with a secret beside it, and one that a command would make."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.secret = folder / "secret"
        self.secret.write_text(f"{HIDDEN} {HIDDEN}_t;\n")
        self.ran = folder / "ran"
        self.made = repository(folder / "tree")

    def lint(self, base: Files, head: Files, *options: str) -> subprocess.CompletedProcess[str]:
        """What the lint says of the head; fails where the secret came out or the command ran."""
        old = self.made.commit(base)
        new = self.made.commit({name: self._filled(text) for name, text in {**base, **head}.items()}, old)
        done = self.made.lint(old, new, *options)
        assert HIDDEN not in done.stdout + done.stderr
        assert not self.ran.exists()
        assert done.returncode in (0, 1, 2)
        assert "Traceback" not in done.stderr
        assert sorted(one.name for one in self.made.root.iterdir()) == [".git"]
        return done

    def _filled(self, text: str | bytes | Entry) -> str | bytes | Entry:
        if not isinstance(text, str):
            return text
        return text.replace("@SECRET@", str(self.secret)).replace("@RAN@", str(self.ran))


@pytest.fixture
def attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Attempt:
    monkeypatch.setenv("LINESMITH_SECRET", HIDDEN)
    return Attempt(tmp_path)


@pytest.mark.skipif(not is_confinable(), reason="this kernel has no Landlock")
@pytest.mark.parametrize("fronts", [FRONTS["ways"], pytest.param(FRONTS["spellings"], marks=pytest.mark.study)])
def test_no_text_of_a_head_reads_a_file_outside_of_the_tree(attempt: Attempt, fronts: list[str]) -> None:
    """Each is in a header of its own, with a record of its own."""
    base: Files = {f"{at}.h": CACHE.replace("cache", f"cache{at}") for at in range(len(fronts))}
    attempt.lint(base, {name: front + str(base[name]) for name, front in zip(base, fronts, strict=True)})


@pytest.mark.parametrize("text", FRONTS["configurations"])
def test_no_configuration_of_a_head_names_a_command_or_a_path(attempt: Attempt, text: str) -> None:
    done = attempt.lint({"a.h": CACHE}, {"a.h": CACHE.replace("hits", "misses"), "linesmith.toml": text})
    assert done.returncode == (2 if "[defaults]" not in text else done.returncode)


def test_a_configuration_that_is_a_link_is_not_read(attempt: Attempt) -> None:
    head: Files = {"a.h": CACHE.replace("hits", "misses"), "linesmith.toml": (LINK, str(attempt.secret).encode())}
    done = attempt.lint({"a.h": CACHE}, head)
    assert done.returncode == 0
    assert "linesmith.toml" in done.stdout


def test_names_like_options_are_names(attempt: Attempt) -> None:
    names = ["-x.h", "--help.h", "@file.h", "a,b.h", "=.h", "~root.h"]
    base: Files = {name: CACHE.replace("cache", f"cache{at}") for at, name in enumerate(names)}
    head: Files = {name: str(text).replace("long uses;\n", "int x; long uses;\n") for name, text in base.items()}
    assert f'"changed": {len(names)}' in attempt.lint(base, head, "--format", "json").stdout


def test_what_is_no_plain_file_of_people_is_left_out_or_not_followed(attempt: Attempt) -> None:
    names = ["$(touch ran).h", "a;touch ran;.h", "`touch ran`.h", "a\nb.h", 'a"b.h', "a b.h", "\x1b[2J.h"]
    head: Files = {
        **dict.fromkeys(names, CACHE.replace("hits", "misses")),
        "a.h": (LINK, str(attempt.secret).encode()),
        "b.h": CACHE.replace("hits", "misses"),
        "giant.h": CACHE + "/" * (9 << 20),
        "sub.h": (MODULE, b"1" * 40),
        ".gitmodules": '[submodule "sub.h"]\n\tpath = sub.h\n\turl = ext::touch @RAN@\n\tupdate = !touch @RAN@\n',
    }
    said = attempt.lint(dict.fromkeys([*names, "a.h", "b.h", "giant.h"], CACHE), head).stdout
    assert "7 files" in said
    assert "left out, because of characters in the name" in said
    assert "\x1b" not in said
    assert "1 symbolic link (a.h) not followed" in said
    assert "1 submodule (sub.h) not followed" in said
    assert "1 file (giant.h) left out, larger than 8 MiB" in said


def test_attributes_run_no_filter(attempt: Attempt) -> None:
    for key in ("filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "diff.evil.textconv"):
        attempt.made.git("config", key, f"touch {attempt.ran}")
    attributes = "* filter=evil diff=evil merge=evil export-subst working-tree-encoding=UTF-16\n"
    attempt.ran.unlink(missing_ok=True)
    head: Files = {"a.h": CACHE.replace("hits", "misses"), ".gitattributes": attributes}
    assert attempt.lint({"a.h": CACHE}, head).returncode == 0


RUN = "touch @RAN@"
BUILD = {
    "Makefile": f"$(shell {RUN})\n" + FILES["Makefile"].replace("prepare0:\n", f"prepare0:\n\t{RUN}\n"),
    **dict.fromkeys(("Kbuild", "scripts/Makefile.build"), f"$(shell {RUN})\n"),
    "Kconfig": f"config X\n\tdefault $(shell,{RUN})\n",
    "scripts/evil.sh": f"{RUN}\n",
}
FORCED = {"include/linux/kconfig.h": '#include <generated/autoconf.h>\n#include "@SECRET@"\n'}


@pytest.mark.parametrize("build", [BUILD, FORCED])
def test_the_build_of_a_head_is_not_run(attempt: Attempt, build: dict[str, str]) -> None:
    """A kernel in small: make prepares the base, and what a head makes of its makefiles stays text."""
    kernel: Files = {name: text for name, text in FILES.items() if name != ".config"}
    configuration = attempt.folder / "config"
    configuration.write_text(FILES[".config"])
    grown = HEADER.replace("\tlong hot;\n", "\tlong hot;\n\tlong more[9];\n")
    done = attempt.lint(kernel, {"include/linux/s.h": grown, **build}, "--kconfig", str(configuration))
    if build is FORCED:
        assert done.returncode == 2
    else:
        assert "of the build differ" in done.stdout
        assert "2 changed" in done.stdout or "1 changed" in done.stdout


UNCHANGED = "struct cache {\n\tlong root;\n\tlong uses;\n};\n"
GROWN = UNCHANGED.replace("\tlong uses;\n", "\tlong uses;\n\tlong more[9];\n")


@pytest.fixture
def made(tmp_path: Path) -> Commits:
    return repository(tmp_path / "tree")


def commits(made: Commits, **further: str) -> tuple[str, str]:
    base = made.commit({"a.h": UNCHANGED})
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
    other = made.git("hash-object", "-w", "--stdin", given=UNCHANGED.encode())
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
