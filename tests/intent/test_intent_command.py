# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith intent`` as a user meets it; what docs/intent.md shows is run by the tests of documents."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path

import pytest
from c_source import compiled
from hand_made import scalar, struct
from keeping import Keeper
from kernel_index import index_of
from linesmith_command import linesmith
from rule_cases import side
from said_tables import Case, cases, filled
from tuning.project import SHORT, project, tuned

from linesmith.analyzer.lint.intents import stale
from linesmith.analyzer.model import Intent, SizeBudget, TypeIntent

pytestmark = pytest.mark.xdist_group("intent-command")

SOURCES = Path(__file__).with_name("sources")
FILES = {"PIPE": "pipe.c", "COUNTS": "counts.c", "OWN": "own.toml", "KEPT": "kept.toml"}
TEXTS = {
    **{name: (SOURCES / file).read_text() for name, file in FILES.items()},
    "FOUR": "struct pipe { long head, tail, ops; char name[64]; } pipe;",
    "ENTRY": '[[type]]\nname = "pipe"\nreason = "r"',
    "WIDE": 'configuration = ["CONFIG_WIDE"]\n[type.budget]\nbytes = 8',
}
PIPE, OWN = TEXTS["PIPE"], TEXTS["OWN"]
GROWN = PIPE.replace("name[28]", "name[60]")


@pytest.mark.parametrize("case", cases(Path(__file__).with_name("commands.txt")), ids=str)
def test_what_is_said_of_a_build_and_its_intents(tmp_path: Path, case: Case) -> None:
    (tmp_path / "wide").write_text("CONFIG_WIDE=y\n")
    (tmp_path / "narrow").write_text("# CONFIG_WIDE is not set\n")
    (tmp_path / "config.gz").write_bytes(gzip.compress(b"CONFIG_WIDE=y\n"))
    (tmp_path / "linesmith.toml").write_text("\n".join(filled(line, TEXTS) for line in case.all("i")))
    old, new = (filled(" ".join(case.all(sign)), TEXTS).replace("{folder}", str(tmp_path)) for sign in "-+")
    options: list[str | Path] = [*" ".join(case.all("$")).format(folder=tmp_path).split()]
    if old:
        options += ["--base", compiled(tmp_path, old, name="old")]
    done = linesmith("intent", compiled(tmp_path, new, name="new"), "--tree", tmp_path, *options)
    done.stdout = done.stdout.replace("+++ ", "")
    case.check(done)


def test_what_is_imported_holds(tmp_path: Path) -> None:
    file, elf = tmp_path / "linesmith.toml", compiled(tmp_path, PIPE, name="pipe")
    text = linesmith("intent", "--import", elf).stdout
    assert text == (
        '[[type]]\nname = "pipe"\nreason = "marked by __cacheline_group_begin() in pipe.c:1"\n\n'
        '[[type.group]]\nname = "rx"\nmembers = ["first", "second", "flag", "other"]\nbytes = 9\n'
    )
    linesmith("intent", "--import", elf, "--into", file)
    done = linesmith("intent", elf, "--check", "--tree", tmp_path)
    assert (done.returncode, done.stdout) == (0, "no violations in 1 record, 1 watched\n")


def test_what_is_asserted_of_some_members_between_markers_holds(tmp_path: Path) -> None:
    check = "CACHELINE_ASSERT_GROUP_MEMBER(struct pipe, rx, {});\n"
    (tmp_path / "check.c").write_text(check.format("first") + check.format("other") + check.format("head"))
    linesmith("intent", "--import", tmp_path, "--into", tmp_path / "linesmith.toml")
    elf = compiled(tmp_path, PIPE.replace("int second;\n  };", "int second;\n  };\n  int beside;"))
    done = linesmith("intent", elf, "--check", "--tree", tmp_path)
    (told,) = (line for line in done.stdout.split("\n") if "WARNING" in line)
    assert "struct pipe: head lies apart from the others of the group rx" in told


def test_the_configuration_of_the_tree_decides_what_is_imported(tmp_path: Path) -> None:
    asserted = "CACHELINE_ASSERT_GROUP_MEMBER(struct pipe, rx, head);"
    (tmp_path / "check.c").write_text(f"#if defined(CONFIG_A) || defined(CONFIG_B)\n{asserted}\n#endif\n")
    (tmp_path / ".config").write_text("CONFIG_C=y\n")
    (tmp_path / "other").write_text("CONFIG_B=m\n")
    assert "has no CACHELINE_ASSERT_GROUP_MEMBER()" in linesmith("intent", "--import", tmp_path).stderr
    assert 'members = ["head"]' in linesmith("intent", "--import", tmp_path, "--kconfig", tmp_path / "other").stdout


def test_what_is_updated_holds_and_the_rest_of_the_file_stays_with_its_line_ends(tmp_path: Path) -> None:
    file, elf = tmp_path / "linesmith.toml", compiled(tmp_path, GROWN)
    file.write_bytes(OWN.replace("\n", "\r\n").encode())
    updated = OWN.replace("64  #", "128  #").replace("lines = 1", "lines = 2").replace("\n", "\r\n").encode()
    linesmith("intent", elf, "--update", "--tree", tmp_path, "-o", tmp_path / "new.toml")
    assert (tmp_path / "new.toml").read_bytes() == updated != file.read_bytes()
    done = linesmith("intent", elf, "--update", "--into", file)
    assert (done.returncode, "+bytes = 128  # was 56\n" in done.stdout) == (0, True)
    assert file.read_bytes() == updated
    assert linesmith("intent", elf, "--check", "--tree", tmp_path).returncode == 0


def test_bytes_get_no_more_room_than_the_objects_of_a_slab_leave() -> None:
    """A sixteenth more than 432 bytes would be 512, of which a slab holds fewer than the 37 that are asked for."""
    wanted = TypeIntent("task_group", "measured", budget=SizeBudget(bytes=400, objects_per_slab=37))
    build = side(struct("task_group", scalar("all", 432, dimensions=(54,))))
    (rewrite,) = stale(Intent(types=(wanted,)), build, frozenset())
    assert (rewrite.path, rewrite.value) == (("type", 0, "budget", "bytes"), 440)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "give one of --from, --check, --update and --import"),
        ("--check", "--check needs ELF and no TYPE"),
        ("{elf} --check --import {elf}", "give one of --from, --check, --update and --import"),
        ("{elf} --from {elf}", "--from needs ELF and TYPE"),
        ("{elf} --import {elf}", "--import names the tree or the ELF file itself"),
        ("--import {elf} --into {folder}/a -o {folder}/b", "and -o has none; leave out one of them"),
        ("{elf} --check --tree {folder}", "{folder}/linesmith.toml does not exist; name its directory"),
        ("--import {folder}", "{folder} has no CACHELINE_ASSERT_GROUP_MEMBER()"),
        ("{elf} pipe --from {folder}", "{folder} is not a run directory (it has no journal.sqlite)"),
        ("{elf} pipe --from {folder}/pipe.c", "is not a profile in a known format"),
        (
            "{elf} --update --into {folder}/pipe.c --intent {folder}/pipe.c",
            "--into and --intent both name the file to update",
        ),
    ],
)
def test_what_makes_no_sense_is_told(tmp_path: Path, arguments: str, said: str) -> None:
    places = {"elf": compiled(tmp_path, PIPE, name="pipe"), "folder": tmp_path}
    done = linesmith("intent", *arguments.format(**places).split())
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


def test_a_run_tells_what_its_best_variant_parts_which_then_holds_what_the_tree_breaks(
    run: Path, tmp_path: Path
) -> None:
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


@pytest.mark.real
def test_a_pasted_report_of_a_kernel_says_what_to_keep_apart(vmlinux: Path, corpus: Path, kept: Keeper) -> None:
    report = corpus / "c2c" / "002-address_space-i_mmap-v2-unixbench-shell.txt"

    done = linesmith("intent", vmlinux, "address_space", "--from", report, cache=index_of(vmlinux, kept))
    assert done.stdout.endswith(
        'hot = ["i_mmap_rwsem", "i_mmap"]\nwrite-hot = ["i_mmap_rwsem", "i_mmap"]\n\n'
        "[type.budget]\nbytes = 256\n\n"
        '[[type.isolate]]\nmembers = ["i_mmap_rwsem"]\nfrom = ["i_mmap"]\n'
    )
