# SPDX-License-Identifier: GPL-2.0-or-later
"""Completion in the shells themselves: commands, options, names of types that an index has."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from linesmith_command import LINESMITH, linesmith

SOURCE = "struct session_index { int a; } i; struct session_table { long b, bits; void *next; } t;"
# What a shell is given at most to start and to complete.
PATIENCE = 300.0


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An object file whose layouts have been read."""
    folder = tmp_path_factory.mktemp("completed")
    (folder / "unit.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-c", "unit.c", "-o", "unit.o"], cwd=folder, check=True)
    assert linesmith("index", folder / "unit.o").returncode == 0
    return folder / "unit.o"


def environment() -> dict[str, str]:
    """That of these tests, in which shells find the program."""
    return {**os.environ, "PATH": f"{LINESMITH.parent}:{os.environ['PATH']}", "TERM": "dumb"}


def by_bash(typed: str) -> set[str]:
    """What bash offers for the last word of a line, of which it says but what stands behind its last ``=`` or ``:``."""
    begin = "PS1=; bind 'set bell-style none'; eval \"$(linesmith completion bash)\"; echo READY$((1+1))\n"
    # Meta-* puts all that it offers on the line, Ctrl-A goes to its begin, Ctrl-E to its end.
    ask = f"{typed}\x1b*\x01printf '%s\\n' LINE$((1+1)) \x05 END$((1+1))\n"
    shown = at_a_terminal(["bash", "--norc", "-i"], begin, ask).split()
    before = typed.rpartition(" ")[0].split()
    return {word.strip("'\"") for word in shown[len(before) :]}


def by_fish(words: Sequence[str]) -> set[str]:
    """What fish offers for the last word, without what it says of each."""
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    found = offered(["fish", "-c", "linesmith completion fish | source; complete -C $argv", "--", " ".join(words)])
    return {line.partition("\t")[0] for line in found}


def offered(command: Sequence[str]) -> set[str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True, env=environment())
    return set(done.stdout.splitlines()) - {""}


def by_zsh(typed: str) -> str:
    """What zsh makes of a line where Tab is hit behind the last letter; it has to be a terminal for that."""
    zsh = shutil.which("zsh")
    if zsh is None:
        pytest.skip("zsh is not installed")
    begin = 'PS1=; autoload -Uz compinit; compinit -u -D; eval "$(linesmith completion zsh)"; print READY$((1+1))\n'
    ask = f"{typed}\t\x01print -r -- LINE$((1+1)) \x05 END$((1+1))\n"
    return at_a_terminal([zsh, "-f", "-i"], begin, ask)


def at_a_terminal(command: Sequence[str], begin: str, ask: str) -> str:
    """What a shell at a terminal prints between ``LINE2`` and ``END2``, once it has said ``READY2``."""
    terminal, theirs = pty.openpty()
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment(), start_new_session=True
    ) as shell:
        try:
            os.write(terminal, begin.encode())
            until(terminal, b"READY2")
            os.write(terminal, ask.encode())
            shown = until(terminal, b"END2").partition(b"LINE2")[2].partition(b"END2")[0]
        finally:
            shell.kill()
    return shown.decode().strip()


def until(terminal: int, mark: bytes) -> bytes:
    """Everything from the terminal up to a mark and what came with it."""
    text = b""
    while mark not in text:
        assert select.select([terminal], [], [], PATIENCE)[0], text
        text += os.read(terminal, 4096)
    return text


def test_bash_completes_commands() -> None:
    assert by_bash("linesmith enc") == {"encapsulate"}


def test_bash_completes_options() -> None:
    assert by_bash("linesmith layout --exp") == {"--expand"}


def test_bash_completes_what_an_option_takes() -> None:
    assert by_bash("linesmith layout --format j") == {"json"}


def test_bash_completes_behind_the_sign_at_which_it_splits() -> None:
    assert by_bash("linesmith lint --format=s") == {"--format=sarif"}


def test_bash_completes_names_of_rules() -> None:
    assert by_bash("linesmith explain isol") == {"isolation-broken", "isolation-new"}
    assert by_bash("linesmith lint --select isolation-n") == {"isolation-new"}
    assert by_bash("linesmith lint --ignore=alig") == {"--ignore=alignment-lost"}


def test_bash_completes_names_of_commands_for_doctor() -> None:
    assert by_bash("linesmith doctor layout re") == {"record", "report"}


def test_bash_completes_words_that_help_shows() -> None:
    assert by_bash("linesmith record --on qe") == {"qemu", "qemu-user"}


def test_bash_completes_a_format_then_its_file(tmp_path: Path) -> None:
    (tmp_path / "known.sarif").touch()
    assert by_bash("linesmith lint --also gith") == {"github="}
    assert by_bash(f"linesmith lint --also sarif={tmp_path}/kn") == {f"sarif={tmp_path}/known.sarif"}


def test_bash_completes_the_place_of_a_patch(tmp_path: Path) -> None:
    (tmp_path / "old.patch").touch()
    assert by_bash(f"linesmith patch -o {tmp_path}/o") == {f"{tmp_path}/old.patch"}


def test_a_type_of_two_builds_is_offered_once(program: Path) -> None:
    assert by_bash(f"linesmith diff {program} {program} session_i") == {"session_index"}


def test_bash_completes_the_type_that_an_option_takes(program: Path) -> None:
    assert by_bash(f"linesmith access {program} --type session_i") == {"session_index"}
    assert by_bash(f"linesmith access {program} --type=session_i") == {"--type=session_index"}


def test_bash_completes_the_name_of_a_type_in_a_namespace(tmp_path: Path) -> None:
    (tmp_path / "unit.cc").write_text("namespace outer { struct Inner { int a; }; } outer::Inner i;")
    subprocess.run(["g++", "-g", "-c", "unit.cc", "-o", "unit.o"], cwd=tmp_path, check=True)
    assert linesmith("index", tmp_path / "unit.o").returncode == 0
    assert by_bash(f"linesmith layout {tmp_path}/unit.o outer::I") == {"outer::Inner"}


def test_bash_completes_names_of_types_that_were_read(program: Path) -> None:
    assert by_bash(f"linesmith layout {program} session") == {"session_index", "session_table"}


def test_fish_completes_names_of_types_that_were_read(program: Path) -> None:
    assert by_fish(["linesmith", "layout", str(program), "session"]) == {"session_index", "session_table"}


def test_zsh_completes_the_name_of_a_type_that_was_read(program: Path) -> None:
    typed = f"linesmith layout {program} session_t"
    assert by_zsh(typed) == f"linesmith layout {program} session_table"


def test_zsh_and_fish_complete_behind_an_option_and_its_sign(program: Path) -> None:
    assert by_zsh("linesmith lint --format=sa") == "linesmith lint --format=sarif"
    assert by_zsh(f"linesmith lint --head={program.parent}/uni") == f"linesmith lint --head={program.parent}/unit."
    assert by_fish(["linesmith", "lint", "--format=sa"]) == {"--format=sarif"}
    assert by_fish(["linesmith", "lint", f"--head={program.parent}/uni"]) == {
        f"--head={program.parent}/unit.c",
        f"--head={program.parent}/unit.o",
    }


def test_zsh_and_fish_complete_names_of_rules() -> None:
    assert by_zsh("linesmith explain isolation-n") == "linesmith explain isolation-new"
    assert by_zsh("linesmith lint --select=isolation-n") == "linesmith lint --select=isolation-new"
    assert by_fish(["linesmith", "lint", "--select", "isolation"]) == {"isolation-broken", "isolation-new"}


def test_a_name_that_a_shell_would_run_is_not_offered(tmp_path: Path) -> None:
    """gcc takes dollars in names; debug information can hold any character."""
    (tmp_path / "unit.c").write_text("struct hostile_$HOME { int a; } h; struct hostile_plain { int a; } p;")
    subprocess.run(["gcc", "-g", "-c", "unit.c", "-o", "unit.o"], cwd=tmp_path, check=True)
    assert linesmith("index", tmp_path / "unit.o").returncode == 0
    assert by_bash(f"linesmith layout {tmp_path}/unit.o hostile") == {"hostile_plain"}


def test_a_file_is_not_read_for_its_types(program: Path, tmp_path: Path) -> None:
    fresh = {**environment(), "LINESMITH_CACHE_DIR": str(tmp_path / "cache")}
    words = {"_LINESMITH_COMPLETE": "bash_complete", "COMP_LINE": f"linesmith layout {program} s"}

    done = subprocess.run([LINESMITH], capture_output=True, text=True, check=False, env=fresh | words)

    assert (done.stdout.strip(), done.stderr) == ("", "")
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("content", [b"", b"no ELF file", b"\x7fELF\x02\x01\x01"])
def test_what_is_no_elf_file_completes_to_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    assert by_bash(f"linesmith layout {tmp_path}/file s") == {"s"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git tree with a branch, a tag, and a tag of a name that a shell would run."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    commands = (
        ("init", "-q", "-b", "main"),
        (*identity, "commit", "-qm", "one", "--allow-empty"),
        ("branch", "topic/one"),
        ("tag", "v6.1-rc2"),
        ("tag", "v$(id)"),
    )
    for words in commands:
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def test_bash_completes_branches_and_tags_of_the_tree(repository: Path) -> None:
    assert by_bash(f"linesmith lint --tree {repository} --base-ref v") == {"v6.1-rc2"}
    assert by_bash(f"linesmith lint --tree {repository} --base-ref v6.1-rc2 --head-ref=top") == {"--head-ref=topic/one"}


def test_without_a_tree_it_is_the_one_around(repository: Path) -> None:
    words = {"_LINESMITH_COMPLETE": "bash_complete", "COMP_LINE": "linesmith lint --base-ref "}
    done = subprocess.run(
        [LINESMITH], capture_output=True, text=True, check=False, cwd=repository, env={**environment(), **words}
    )
    assert done.stdout.splitlines() == ["plain,HEAD", "plain,main", "plain,topic/one", "plain,v6.1-rc2"]


def test_zsh_and_fish_complete_revisions(repository: Path) -> None:
    typed = f"linesmith lint --tree {repository} --base-ref=v"
    assert by_zsh(typed) == f"{typed}6.1-rc2"
    assert by_fish(["linesmith", "lint", "--tree", str(repository), "--base-ref", "topic"]) == {"topic/one"}


def test_no_revision_is_offered_where_git_reads_none(tmp_path: Path) -> None:
    assert by_bash(f"linesmith lint --tree {tmp_path} --base-ref v") == {"v"}


def test_bash_completes_members_of_the_type_on_the_line(program: Path) -> None:
    assert by_bash(f"linesmith slab {program} session_table --pull-in n") == {"next"}
    assert by_bash(f"linesmith slab {program} session_table --pull-in next --cold b,bi") == {"b,bits"}
    assert by_bash(f"linesmith slab {program} session_table --shrink=bi") == {"--shrink=bits="}


def test_fish_and_zsh_complete_the_last_of_several_members(program: Path) -> None:
    words = ["linesmith", "slab", str(program), "session_table", "--pull-in", "next", "--cold", "b,bi"]
    assert by_fish(words) == {"b,bits"}
    assert by_zsh(" ".join(words)) == f"{' '.join(words[:-1])} b,bits"


def test_an_unknown_shell_is_refused() -> None:
    done = linesmith("completion", "csh")
    assert done.stderr == "linesmith completion: SHELL: 'csh' is not one of 'bash', 'zsh', 'fish'; give one of these\n"
