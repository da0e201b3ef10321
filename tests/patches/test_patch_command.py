# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith patch`` and ``diff --patch`` as a user runs them."""

from __future__ import annotations

import json
import re
import subprocess
from email import message_from_bytes
from pathlib import Path

import pytest
from linesmith_command import command, linesmith
from patch_cases import git, write_files

from linesmith.analyzer.demo.walkthrough import PROFILE, build, find_compiler, unpack

pytestmark = pytest.mark.xdist_group("patch command")
SOURCES = Path(__file__).with_name("sources")


def committed(tree: Path, *subjects: str) -> Path:
    """The program that is built of the tree; the tree is a repository with a commit for each subject."""
    build(tree, find_compiler())
    built = (tree / "bench").rename(tree.parent / "bench")
    git(tree, "init", "-q", "-b", "main")
    git(tree, "config", "user.name", "Ann Other")
    git(tree, "config", "user.email", "ann@example.org")
    for subject in subjects:
        (tree / "session_index.h").open("a").write("\n")
        git(tree, "add", ".")
        git(tree, "commit", "-q", "-m", subject)
    return built


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built from sources that are in a repository with a habit of its own."""
    return committed(unpack(tmp_path_factory.mktemp("demo") / "tree"), "index: Begin", "index: Go on")


def patch(bench: Path, *options: str | Path) -> subprocess.CompletedProcess[str]:
    tree = bench.parent / "tree"
    return linesmith("patch", bench, tree / PROFILE, "--tree", tree, "--cflags=-std=c11", "--no-scan", *options)


def test_a_folder_gets_a_mail_that_git_takes(bench: Path, tmp_path: Path) -> None:
    tree, out = bench.parent / "tree", tmp_path / "out"
    done = patch(bench, "-o", f"{out}/")
    assert (done.returncode, done.stderr) == (0, "")
    (file,) = out.iterdir()
    assert done.stdout == f"{file}\n"
    mail = message_from_bytes(file.read_bytes())
    assert mail["Subject"] == "[PATCH] index: Separate root from guard in struct session_index"
    copy = tmp_path / "copy"
    git(tmp_path, "clone", "-q", str(tree), str(copy))
    git(copy, "am", "-q", str(file))
    assert git(copy, "log", "-1", "--format=%an").strip() == "Ann Other"
    assert git(tree, "status", "--porcelain") == ""


def test_a_doubt_about_the_record_stands_in_the_message_and_the_comment_can_be_left_out(
    bench: Path, tmp_path: Path
) -> None:
    """A function that touches the members at 0 and 8 is seen at 0x20: the members may lie otherwise there."""
    tree, odd = bench.parent / "tree", tmp_path / "odd.c2c"
    odd.write_text((tree / PROFILE).read_text().replace(" 0x8     0", "0x20     0"))
    done = linesmith("patch", bench, odd, "--tree", tree, "--cflags=-std=c11", "--no-scan", "--no-comment")
    told = " ".join(done.stdout.split())
    assert "Written by " not in told
    misfit = "what is touched at 0x20 hardly fits the likeliest type, which may be laid out otherwise there."
    assert f"may not be of struct session_index: {misfit}" in told
    assert "No benchmark has been run." in told


def test_a_member_that_comes_to_lie_on_two_lines_stands_in_the_message(tmp_path: Path) -> None:
    """``list`` begins the second line of an object, until the lock in front of it moves away."""
    tree = unpack(tmp_path / "tree")
    header = tree / "session_index.h"
    behind, added = "  const char *name;\n", "  struct session_list { void *next, *prev; } list;\n"
    header.write_text(header.read_text().replace(behind, f"{added}{behind}"))
    told = patch(committed(tree, "index: Begin")).stdout
    assert "Puts on two cache lines: list (in 100% of the phases, 0% before)." in " ".join(told.split())


def test_json_has_each_file(bench: Path) -> None:
    told = json.loads(patch(bench, "--format", "json").stdout)
    assert [one["text"] for one in told["patches"]] == [told["patch"]]
    assert (told["schema"], told["checks"]) == (1, [])
    assert told["message"].split("\n", 2)[2] in told["patch"]
    assert "\n+  /* Written by " in told["patch"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--format", "json", "-o", "out/"), "--format json writes one file"),
        (("-o", "/nowhere/at/all.patch"), "cannot write /nowhere/at/all.patch"),
        (("--on", "vax"), "there is no configuration 'vax'"),
        (("--cflags=-std=c11 -Dstruct=nothing",), "before any change, session_index.h does not compile"),
        (("--candidate", "other"), "'other' is neither the number of a candidate"),
        (("--tree", str(SOURCES)), "was not built from"),
    ],
)
def test_what_cannot_be_is_said_before_the_search(bench: Path, options: tuple[str, ...], complaint: str) -> None:
    # Only the search knows that there are not so many candidates.
    done = patch(bench, "--candidate", "99", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in " ".join(done.stderr.split())


def test_a_name_means_one_change_whatever_else_is_offered(bench: Path, tmp_path: Path) -> None:
    """The first candidate is another change where the source's facts rule out what was first without them."""
    facts, profile = tmp_path / "facts.toml", bench.parent / "tree" / PROFILE
    facts.write_text('[[session_index]]\ntogether = ["leftmost", "guard"]\nplace = "bench.c:9"\n')
    free = json.loads(linesmith("suggest", bench, profile, "--format", "json").stdout)["candidates"][0]["name"]
    done = patch(bench, "--constraints", facts, "--candidate", free, "--dry-run")
    assert (done.returncode, done.stdout) == (2, "")
    ruled_out, _, offered = done.stderr.partition("; candidates: ")
    assert f"the source rules out {free} (move guard " in ruled_out
    assert re.match(r"[a-z]{5} \(", offered)
    assert free not in offered


def test_that_nothing_is_to_be_done_is_an_answer(bench: Path, tmp_path: Path) -> None:
    """It goes to standard output, not into the file of the patch; a name that nothing has is an error."""
    out = tmp_path / "guard.patch"
    done = patch(bench, "--type", "session", "-o", out)
    assert (done.returncode, done.stderr, out.exists()) == (0, "", False)
    assert re.fullmatch(r"no line of \S+ holds session; found: session_index\n", done.stdout)
    assert json.loads(patch(bench, "--type", "session", "--format", "json").stdout) == {"answer": done.stdout.strip()}
    profile = bench.parent / "tree" / PROFILE
    intent = linesmith("intent", bench, "session", "--from", profile)  # its output is TOML
    assert (intent.returncode, intent.stdout) == (0, f"# {done.stdout}")
    wrong = patch(bench, "--type", "sessio")
    assert (wrong.returncode, "did you mean session, session_index?" in wrong.stderr) == (2, True)


def test_of_candidates_none_of_which_is_recommended_none_is_written(bench: Path, tmp_path: Path) -> None:
    facts = tmp_path / "facts.toml"
    facts.write_text('[[session_index]]\noffset = ["guard", "root", "leftmost"]\nplace = "bench.c:9"\n')
    done = patch(bench, "--constraints", facts)
    assert (done.returncode, done.stderr) == (0, "")
    assert "moving members does not help" in done.stdout, done.stdout


# What a patch makes of the records that it changes, as a program that checks patches

HEADER = (SOURCES / "cache.h").read_text()
GROWN = HEADER.replace("\tlong uses;\n", "\tlong uses;\n\tlong misses;\n")
MOVED = HEADER.replace("\tlong root;\n", "").replace("\tlong uses;\n", "\tlong uses;\n\tlong root;\n")
BROKEN = HEADER.replace("\tlong uses;\n", "\tlong uses;\n\tword_t misses;\n")


def diff(folder: Path, after: str, before: str = HEADER) -> bytes:
    """The patch from the header to ``after``, as git writes it."""
    tree = write_files(folder, {"a/src/cache.h": before, "b/src/cache.h": after})
    argv = ["git", "diff", "--no-index", "--no-prefix", "a/src/cache.h", "b/src/cache.h"]
    return subprocess.run(argv, cwd=tree, capture_output=True, check=False, timeout=30).stdout


def check(tree: Path, patch: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    return command("diff", "--patch", "-", "--tree", tree, *options, stdin=patch)


@pytest.mark.parametrize("header", [HEADER, GROWN])
def test_what_grows_is_told_whether_the_patch_is_applied_or_not(tmp_path: Path, header: str) -> None:
    tree = write_files(tmp_path / "tree", {"src/cache.h": header})
    done = check(tree, diff(tmp_path, GROWN))
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.decode() == (
        "src/cache.h:1: WARNING: cache grows from 64 to 72 bytes, from 1 to 2 lines\n"
        "src/cache.h:1: WARNING: holder grows with it from 64 to 72 bytes, from 1 to 2 lines\n"
    )
    document = json.loads(check(tree, diff(tmp_path, GROWN), "--format", "json").stdout)
    (told,) = document["records"]
    sizes = [(one["record"], one["before"]["size"], one["after"]["size"]) for one in told["records"]]
    assert (document["schema"], told["place"], sizes) == (1, "src/cache.h:1", [("cache", 64, 72), ("holder", 64, 72)])


@pytest.mark.parametrize(
    "record",
    [
        "struct cache {{\n\tlong uses;\n}}{};\n",
        "struct{} cache {{\n\tlong uses;\n}};\n",
        "typedef struct {{\n\tlong uses;\n}}{} cache;\n",
    ],
)
def test_an_attribute_beside_the_braces_counts(tmp_path: Path, record: str) -> None:
    before, after = record.format(""), record.format(" __attribute__((aligned(64)))")
    tree = write_files(tmp_path / "tree", {"src/cache.h": before})
    done = check(tree, diff(tmp_path, after, before))
    assert done.stdout.decode() == "src/cache.h:1: WARNING: cache grows from 8 to 64 bytes\n"


def test_only_records_that_grow_or_do_not_compile_are_complaints(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", {"src/cache.h": HEADER})
    done = check(tree, diff(tmp_path, MOVED))
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr == b"linesmith: no record that the patch changes grows\n"
    done = check(tree, diff(tmp_path, BROKEN))
    assert done.returncode == 1
    assert b"src/cache.h:1: ERROR: " in done.stdout
    assert b"word_t" in done.stdout
