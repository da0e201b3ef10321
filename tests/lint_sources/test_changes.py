# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith lint`` of two revisions and of mails, without a build."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from linesmith_command import linesmith
from lint_commits import LINK, Commits, Entry, repository
from matrix.small_kernel import small_kernel
from patch_cases import write_files
from said_tables import Case, cases, filled
from text_cases import files_in

from linesmith.patches.build.confinement import is_confinable
from linesmith.patches.series.mails import unified_diff

TEXTS = files_in(Path(__file__).with_name("texts.txt"))
LOST = "was aligned to 64 bytes and is no longer"
CASES = cases(Path(__file__).with_name("changes.txt"))


def text(of: str) -> str:
    return filled(of, TEXTS)


@pytest.fixture(scope="module")
def commits(tmp_path_factory: pytest.TempPathFactory) -> Commits:
    """A repository in which nothing is checked out."""
    return repository(tmp_path_factory.mktemp("commits") / "tree")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_said_of_a_change(commits: Commits, case: Case) -> None:
    base, head = (
        {name: text(content.removeprefix(" ")) for name, _, content in (one.partition(":") for one in lines)}
        for lines in (case.all("-="), case.all("+="))
    )
    old = commits.commit(base)
    case.check(commits.lint(old, commits.commit(head, old), *" ".join(case.all("$")).split()))
    assert [path.name for path in commits.root.iterdir()] == [".git"]


@pytest.fixture
def made(tmp_path: Path) -> Commits:
    """A checkout of one commit."""
    made = repository(tmp_path / "tree")
    files = {"a.h": text("@CACHE"), "text": "t\n", ".gitattributes": "* filter=evil\n"}
    made.git("reset", "-q", "--hard", made.commit(files))
    return made


def test_the_head_is_the_commit_that_is_checked_out_unless_another_is_named(made: Commits) -> None:
    old = made.git("rev-parse", "HEAD")
    made.git("update-ref", "HEAD", made.commit({"a.h": text("@CACHE s/ A;/;/")}, old))
    assert LOST in linesmith("lint", "--tree", made.root, "--base-ref", old).stdout
    (made.root / "linesmith.toml").write_text(text("@BUDGET"))
    assert "are the same commit: there is nothing to compare" in made.lint("HEAD", "HEAD").stdout
    assert "struct cache: has" not in made.lint("HEAD", old).stdout, "intents are those of the head"


def test_a_patch_that_renames_a_file_is_judged_too(made: Commits) -> None:
    new = made.commit({"inc/a.h": text("@CACHE s/ A;/;/")}, made.git("rev-parse", "HEAD"))
    patch = made.root / "0001.patch"
    patch.write_text(made.git("format-patch", "--stdout", "-1", new) + "\n")
    assert (
        f"a.h:9: WARNING: struct cache: hits {LOST}" in linesmith("lint", "--tree", made.root, "--patch", patch).stdout
    )


REMARK = "changes of 1 file (a.h) are not committed, and not judged: HEAD is"


def remarks(made: Commits, *options: str) -> str:
    done = linesmith("lint", "--tree", made.root, "--base-ref", "HEAD", *options)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("options", [(), ("--head-ref", "HEAD")])
def test_a_tracked_file_that_was_changed_is_told_and_no_filter_runs(made: Commits, options: tuple[str, ...]) -> None:
    made.git("config", "filter.evil.clean", f"touch {made.root / 'ran'}; cat")
    (made.root / "a.h").write_text(text("@CACHE"))
    (made.root / "text").write_text("u\n")
    assert "not committed" not in remarks(made, *options), "touched only, and what says nothing of layouts"
    (made.root / "a.h").write_text("int a;\n")
    assert REMARK in remarks(made, *options)
    assert "not committed" not in remarks(made, "--head-ref", made.git("rev-parse", "HEAD"))
    assert not (made.root / "ran").exists()
    made.git("add", "a.h")
    assert REMARK in remarks(made, *options), "what is staged"


def test_a_file_that_a_sparse_checkout_leaves_out_is_not_told(made: Commits) -> None:
    made.git("update-index", "--skip-worktree", "a.h")
    (made.root / "a.h").unlink()
    assert "not committed" not in remarks(made)


# What mails of git make of a tree

HEADER = "struct cache {\n\tlong uses;\n\tlong hits __attribute__((aligned(64)));\n\tlong misses;\n};\n"
UNALIGNED_HITS = HEADER.replace(" __attribute__((aligned(64)))", "")
RENAMED = UNALIGNED_HITS.replace("misses", "lost")
LOST_HITS = "a.h:3: WARNING: struct cache: hits was aligned to 64 bytes and is no longer"

Files = dict[str, str | bytes | Entry]


def mails(repo: Commits, *versions: Files) -> list[str]:
    """What ``git format-patch`` writes of commits with these files, one after the other."""
    commits = [repo.commit(versions[0])]
    for files in versions[1:]:
        commits.append(repo.commit(files, commits[-1]))
    return [repo.git("format-patch", "--stdout", "-1", one) + "\n" for one in commits[1:]]


def lint_mails(tree: Path, *patches: str) -> subprocess.CompletedProcess[str]:
    """Judge the patches, the first of which comes over standard input."""
    files = [tree.parent / f"{number}.patch" for number in range(1, len(patches))]
    for file, text in zip(files, patches[1:], strict=True):
        file.write_text(text)
    options = [part for one in (Path("-"), *files) for part in ("--patch", one)]
    return linesmith("lint", "--tree", tree, *options, stdin=patches[0])


@pytest.fixture
def repo(tmp_path: Path) -> Commits:
    return repository(tmp_path / "made")


def test_a_series_is_judged_as_a_whole(tmp_path: Path, repo: Commits) -> None:
    tree = write_files(tmp_path / "tree", {"a.h": HEADER})
    texts = mails(repo, {"a.h": HEADER}, {"a.h": UNALIGNED_HITS}, {"a.h": RENAMED})
    assert LOST_HITS in lint_mails(tree, *texts).stdout
    assert LOST_HITS in lint_mails(tree, "".join(texts)).stdout
    assert LOST_HITS not in lint_mails(write_files(tmp_path / "other", {"a.h": UNALIGNED_HITS}), texts[1]).stdout


def test_a_series_may_take_back_what_it_did_and_files_may_come_and_go(tmp_path: Path, repo: Commits) -> None:
    tree = write_files(tmp_path / "tree", {"a.h": HEADER, "gone.h": "int g;\n"})
    old: Files = {"a.h": HEADER, "gone.h": "int g;\n"}
    changed = mails(repo, old, {"a.h": UNALIGNED_HITS, "came.h": "int c;\n"}, {"a.h": HEADER, "came.h": "int c;\n"})
    assert LOST_HITS in lint_mails(tree, changed[0]).stdout
    assert lint_mails(tree, *changed).returncode == 0


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("--- a/a.h\n+++ b/a.h\n@@ -1 +1 @@\n-int x;\n+int y;\n", "neither forwards nor backwards"),
        ("--- a/../out.h\n+++ b/../out.h\n@@ -0,0 +1 @@\n+int y;\n", "is no patch of files"),
        ("--- /etc/passwd\n+++ /etc/passwd\n@@ -0,0 +1 @@\n+int y;\n", "is no patch of files"),
        ("nothing\n", "standard input is no patch of files"),
    ],
)
def test_what_is_no_patch_of_the_tree_is_an_error(tmp_path: Path, patch: str, said: str) -> None:
    done = lint_mails(write_files(tmp_path / "tree", {"a.h": HEADER}), patch)
    assert done.returncode == 2
    assert said in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tree"]


def test_a_patch_that_writes_through_its_own_link_does_not_apply(tmp_path: Path, repo: Commits) -> None:
    tree = write_files(tmp_path / "tree", {"a.h": HEADER})
    linked: Files = {"a.h": HEADER, "sub": (LINK, str(tmp_path).encode())}
    first, second = mails(repo, {"a.h": HEADER}, linked, {"a.h": HEADER, "sub/x.h": "1\n"})
    second = second.replace("deleted file mode 120000", "old mode 120000")
    lint_mails(tree, first, second)
    assert not (tmp_path / "x.h").exists()


def test_no_link_is_followed_whether_a_patch_makes_it_or_the_tree_has_it(tmp_path: Path, repo: Commits) -> None:
    tree = write_files(tmp_path / "tree", {"a.h": HEADER})
    done = lint_mails(tree, *mails(repo, {"a.h": HEADER}, {"a.h": (LINK, b"/etc/passwd")}))
    assert (done.returncode, "root:" in done.stdout + done.stderr) == (0, False)
    (tree / "a.h").rename(tmp_path / "secret")
    (tree / "a.h").symlink_to(tmp_path / "secret")
    assert lint_mails(tree, *mails(repo, {"a.h": HEADER}, {"a.h": UNALIGNED_HITS})).returncode == 2


def test_a_tree_that_has_a_changed_build_already_is_refused(tmp_path: Path, repo: Commits) -> None:
    after: Files = {"a.h": UNALIGNED_HITS, "Makefile": "$(shell touch ran)\n"}
    text = mails(repo, {"a.h": HEADER, "Makefile": "all:\n"}, after)
    fresh = lint_mails(write_files(tmp_path / "tree", {"a.h": HEADER, "Makefile": "all:\n"}), *text)
    assert LOST_HITS in fresh.stdout
    done = lint_mails(
        write_files(tmp_path / "other", {"a.h": UNALIGNED_HITS, "Makefile": "$(shell touch ran)\n"}), *text
    )
    assert done.returncode == 2
    assert "which changes Makefile of the build; give the tree without it" in done.stderr


@pytest.mark.skipif(not is_confinable(), reason="this kernel has no Landlock")
def test_gits_own_files_of_the_tree_are_not_read(tmp_path: Path, repo: Commits) -> None:
    """Checkouts of a CI have tokens in .git/config."""
    head: Files = {"a.h": '#include ".git/config"\n' + UNALIGNED_HITS}
    tree = write_files(tmp_path / "tree", {"a.h": HEADER, ".git/config": "squeamish ossifrage;\n"})
    done = lint_mails(tree, *mails(repo, {"a.h": HEADER}, head))
    assert done.returncode == 2
    assert "ossifrage" not in done.stdout + done.stderr


# Patches of a kernel: a header that needs what nearly all units include before it, and one of a real tree

FILE = "include/linux/queue/limits.h"
DQL = "struct dql {\n\tword queued;\n\tword limit __attribute__((aligned(64)));\n};\n"
MM_TYPES = "include/linux/mm_types.h"
LOCK = b"\t\tspinlock_t arg_lock; /* protect the below fields */\n"
PGD = b"\t\tpgd_t * pgd;\n"
KNOWN = {"include/linux/module.h": "typedef long word;\n", "include/linux/netdevice.h": "", "include/linux/pci.h": ""}


def judged(folder: Path, header: str) -> str:
    """What is said of a patch that takes the alignment out of a header of a kernel in small."""
    tree = write_files(small_kernel(folder / "tree"), {**KNOWN, FILE: header})
    unaligned = header.replace(" __attribute__((aligned(64)))", "")
    (folder / "0001.patch").write_bytes(unified_diff(header.encode(), unaligned.encode(), FILE))
    return linesmith("lint", "--tree", tree, "--patch", folder / "0001.patch").stdout


def test_a_header_of_a_kernel_is_compiled_behind_basic_ones(tmp_path: Path) -> None:
    """As include/linux/pci_hotplug.h, which no header includes, and which takes u8 for known."""
    lost = f"{FILE}:3: WARNING: struct dql: limit was aligned to 64 bytes and is no longer"
    assert lost in judged(tmp_path, DQL)


def test_a_header_that_these_do_not_help_is_told_by_what_it_lacks_alone(tmp_path: Path) -> None:
    said = f"{FILE} was not compiled: in tree, {FILE} does not compile: {FILE}:2: unknown type"
    assert said in judged(tmp_path, DQL.replace("word", "bdaddr_t"))


@pytest.mark.real
@pytest.mark.study
def test_a_lock_that_leaves_its_data_in_a_kernel_that_is_not_built(kernel_tree: Path, tmp_path: Path) -> None:
    before = (kernel_tree / MM_TYPES).read_bytes()
    after = before.replace(LOCK, b"", 1).replace(PGD, PGD + LOCK, 1)
    patch = tmp_path / "0001.patch"
    patch.write_bytes(unified_diff(before, after, MM_TYPES))
    options = ("--tree", kernel_tree, "--patch", patch, "--type", "mm_struct", "--format", "json")
    done = linesmith("lint", *options)
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    assert (found["changed"], found["remarks"]) == (1, [])
    told = [(one["rule"], one["type"], one["member"], one["file"]) for one in found["violations"]]
    assert ("lock-moved", "struct mm_struct", "arg_lock", MM_TYPES) in told
    assert (kernel_tree / MM_TYPES).read_bytes() == before
