# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith intent`` as a user meets it; what docs/intent.md shows is run by the tests of documents."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path

import pytest
from linesmith_command import linesmith
from tuning.project import SHORT, project, tuned

SOURCE = """\
struct pipe {
  long head;
  long tail;
  char __cacheline_group_begin__rx[0];
  union {
    long first;
    int second;
  };
  int flag : 3, other : 5;
  char __cacheline_group_end__rx[0];
  char name[48];
};
struct pipe pipe;
"""
ENTRY = '[[type]]\nname = "pipe"\nreason = "r"\n'


def compiled(folder: Path, text: str = SOURCE) -> Path:
    (folder / "pipe.c").write_text(text)
    subprocess.run(["gcc", "-g", "-c", "pipe.c"], cwd=folder, check=True)
    return folder / "pipe.o"


def test_markers_are_imported_with_all_that_lies_between_them(tmp_path: Path) -> None:
    done = linesmith("intent", "--import", compiled(tmp_path))

    assert done.stdout == (
        '[[type]]\nname = "pipe"\nreason = "marked by __cacheline_group_begin() in pipe.c:1"\n\n'
        '[[type.group]]\nname = "rx"\nmembers = ["first", "second", "flag", "other"]\nbytes = 9\n'
    )


def test_what_is_imported_holds(tmp_path: Path) -> None:
    elf = compiled(tmp_path)
    linesmith("intent", "--import", elf, "--into", tmp_path / "linesmith.toml")

    done = linesmith("intent", elf, "--check", "--tree", tmp_path)

    assert (done.returncode, done.stdout) == (0, "no violations in 1 record, 1 watched\n")


def test_what_is_asserted_of_some_members_between_markers_holds(tmp_path: Path) -> None:
    check = "CACHELINE_ASSERT_GROUP_MEMBER(struct pipe, rx, {});\n"
    (tmp_path / "check.c").write_text(check.format("first") + check.format("other") + check.format("head"))
    linesmith("intent", "--import", tmp_path, "--into", tmp_path / "linesmith.toml")
    beside = "  int second;\n  };\n  int beside;"

    elf = compiled(tmp_path, SOURCE.replace("  int second;\n  };", beside))
    done = linesmith("intent", elf, "--check", "--tree", tmp_path)

    (told,) = (line for line in done.stdout.split("\n") if "WARNING" in line)
    assert "struct pipe: head lies apart from the others of the group rx" in told


def test_the_configuration_of_the_tree_decides_what_is_imported(tmp_path: Path) -> None:
    check = (
        "#if defined(CONFIG_A) || defined(CONFIG_B)\nCACHELINE_ASSERT_GROUP_MEMBER(struct pipe, rx, head);\n#endif\n"
    )
    (tmp_path / "check.c").write_text(check)
    (tmp_path / ".config").write_text("CONFIG_C=y\n")
    (tmp_path / "other").write_text("CONFIG_B=m\n")

    assert "has no CACHELINE_ASSERT_GROUP_MEMBER()" in linesmith("intent", "--import", tmp_path).stderr
    done = linesmith("intent", "--import", tmp_path, "--kconfig", tmp_path / "other")
    assert 'members = ["head"]' in done.stdout


def test_a_member_that_is_not_there_is_an_error_with_its_line(tmp_path: Path) -> None:
    elf = compiled(tmp_path)
    (tmp_path / "linesmith.toml").write_text(f'\n{ENTRY}hot = ["hed"]\n')

    done = linesmith("intent", elf, "--check", "--tree", tmp_path)

    assert done.returncode == 1
    assert done.stdout.startswith(
        "linesmith.toml:2: WARNING: struct pipe: hed is not there; did you mean head? [intent-stale]"
    )


CONDITION = f'{ENTRY}configuration = ["CONFIG_WIDE"]\n[type.budget]\nbytes = 8\n'


def test_an_intent_of_an_unknown_configuration_is_left_out_and_told(tmp_path: Path) -> None:
    elf = compiled(tmp_path)
    (tmp_path / "linesmith.toml").write_text(CONDITION)

    done = linesmith("intent", elf, "--check", "--tree", tmp_path)

    assert done.returncode == 0
    assert "note: linesmith.toml:1: what is wanted of pipe where CONFIG_WIDE is set was not checked" in done.stdout


@pytest.mark.parametrize(("text", "status"), [("CONFIG_WIDE=y\n", 1), ("# CONFIG_WIDE is not set\n", 0)])
def test_a_configuration_decides(tmp_path: Path, text: str, status: int) -> None:
    elf, config = compiled(tmp_path), tmp_path / "config"
    config.write_text(text)
    (tmp_path / "linesmith.toml").write_text(CONDITION)

    done = linesmith("intent", elf, "--check", "--tree", tmp_path, "--kconfig", config)

    assert (done.returncode, "note:" in done.stdout) == (status, False)


def test_a_kernel_that_carries_its_configuration_needs_none(tmp_path: Path) -> None:
    (tmp_path / "config.gz").write_bytes(gzip.compress(b"CONFIG_WIDE=y\n"))
    carried = (
        'asm(".section .rodata\\n.ascii \\"IKCFG_ST\\"\\n.incbin \\"config.gz\\"\\n.ascii \\"IKCFG_ED\\"\\n.text");\n'
    )
    elf = compiled(tmp_path, SOURCE + carried)
    (tmp_path / "linesmith.toml").write_text(CONDITION)

    done = linesmith("intent", elf, "--check", "--tree", tmp_path)

    assert (done.returncode, "budget-exceeded" in done.stdout) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "say one of --from, --check, --update and --import"),
        (("--check",), "--check needs ELF and no TYPE"),
        (("{elf}", "--check", "--import", "{elf}"), "say one of --from, --check, --update and --import"),
        (("{elf}", "--from", "{elf}"), "--from needs ELF and TYPE"),
        (("{elf}", "--import", "{elf}"), "--import names the tree or the ELF file itself"),
        (("--import", "{elf}", "--into", "{folder}/a", "-o", "{folder}/b"), "-o does not; leave out one of them"),
        (("{elf}", "--check", "--tree", "{folder}"), "there is no {folder}/linesmith.toml; name the folder"),
        (("--import", "{folder}"), "{folder} has no CACHELINE_ASSERT_GROUP_MEMBER()"),
        (("{elf}", "pipe", "--from", "{folder}"), "{folder} holds no run (it has no journal.sqlite)"),
        (("{elf}", "pipe", "--from", "{folder}/pipe.c"), "is no profile that an installed reader knows"),
    ],
)
def test_what_makes_no_sense_is_told(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    places = {"elf": compiled(tmp_path), "folder": tmp_path}

    done = linesmith("intent", *(one.format(**places) for one in arguments))

    assert (done.returncode, done.stdout) == (2, "")
    assert said.format(**places) in done.stderr


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tree, its build, a finished run, and ``best.patch``."""
    folder = project(tmp_path_factory.mktemp("project"))
    result = tuned(folder / "run", folder, SHORT)
    (folder / "best.patch").write_bytes((folder / "run" / dict(result.patches)[result.best or ""]).read_bytes())
    subprocess.run(["cc", "-g", "-O1", "-pthread", "-o", folder / "queue", folder / "tree" / "queue.c"], check=True)
    return folder


def test_a_run_tells_what_its_best_variant_parts(run: Path, tmp_path: Path) -> None:
    done = linesmith("intent", run / "queue", "queue", "--from", run / "run", "--into", tmp_path / "linesmith.toml")

    text = (tmp_path / "linesmith.toml").read_text()
    assert (done.returncode, done.stderr) == (0, "")
    assert "profile.json of the run on tree: 1 line holds a struct queue, with " in text
    assert "; measured: command value, 1 thread: -50.0% (-50.0% to -50.0%)" in text
    (isolation,) = (part for part in text.split("\n\n") if part.startswith("[[type.isolate]]"))
    assert {'"head"', '"tail"'} == {line.partition("[")[2].strip("]") for line in isolation.split("\n")[1:3]}


def test_the_best_variant_holds_what_the_tree_breaks(run: Path, tmp_path: Path) -> None:
    linesmith("intent", run / "queue", "queue", "--from", run / "run", "--into", tmp_path / "linesmith.toml")
    (tmp_path / "patched").mkdir()
    for name in ("queue.h", "queue.c"):
        (tmp_path / "patched" / name).write_text((run / "tree" / name).read_text())
    subprocess.run(["patch", "-s", "-p1", "-i", run / "best.patch"], cwd=tmp_path / "patched", check=True)
    subprocess.run(["cc", "-g", "-pthread", "-o", "queue", "queue.c"], cwd=tmp_path / "patched", check=True)

    before = linesmith("intent", run / "queue", "--check", "--tree", tmp_path)
    after = linesmith("intent", tmp_path / "patched" / "queue", "--check", "--tree", tmp_path)

    assert (before.returncode, "[isolation-broken]" in before.stdout) == (1, True)
    assert (after.returncode, after.stdout) == (0, "no violations in 1 record, 1 watched\n")


@pytest.mark.real
def test_a_pasted_report_of_a_kernel_says_what_to_keep_apart(vmlinux: Path, corpus: Path) -> None:
    report = corpus / "c2c" / "002-address_space-i_mmap-v2-unixbench-shell.txt"

    done = linesmith("intent", vmlinux, "address_space", "--from", report)

    assert done.stdout.endswith(
        'hot = ["i_mmap_rwsem", "i_mmap"]\nwrite-hot = ["i_mmap_rwsem", "i_mmap"]\n\n'
        "[type.budget]\nbytes = 256\n\n"
        '[[type.isolate]]\nmembers = ["i_mmap_rwsem"]\nfrom = ["i_mmap"]\n'
    )
