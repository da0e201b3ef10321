# SPDX-License-Identifier: GPL-2.0-or-later
"""A compile sees the tracked files of a checkout, and nothing else of the machine but its toolchain."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from linesmith_command import linesmith
from lint_commits import Commits, repository
from patch_cases import write_files

from linesmith.patches.build.confinement import is_confinable
from linesmith.patches.series.mails import unified_diff
from linesmith.patches.source.tree import source_bytes, visible_files

pytestmark = pytest.mark.skipif(not is_confinable(), reason="this kernel has no Landlock")

HIDDEN = "ossifrage"
HEADER = "struct cache {\n\tlong root;\n\tlong uses;\n};\n"


def checkout(folder: Path, files: dict[str, str]) -> Commits:
    made = repository(folder)
    made.git("reset", "-q", "--hard", made.commit(files))
    return made


def judged(folder: Path, front: str, *options: str) -> str:
    """What ``lint --patch`` and ``diff --patch`` say of a change that puts ``front`` into the header."""
    grown = front + HEADER.replace("\tlong uses;\n", "\tlong uses;\n\tlong more[9];\n")
    patch = unified_diff(HEADER.encode(), grown.encode(), "src/cache.h").decode()
    said = ""
    for word in ("lint", "diff"):
        done = linesmith(word, "--patch", "-", "--tree", folder / "tree", *options, stdin=patch)
        said += done.stdout + done.stderr
        assert "Traceback" not in done.stderr
    return said


INCLUDE, MACRO, INCBIN = '#include "@"\n', '#define X "@"\n#include X\n', 'asm(".incbin \\"@\\"");\n'
UNTRACKED = ("secrets.h", "keys/id_rsa", ".git/config", "../beside.h", "build/secret.txt")


@pytest.mark.parametrize(
    ("front", "name"), [*((one, ".env") for one in (INCLUDE, MACRO, INCBIN)), *((INCLUDE, one) for one in UNTRACKED)]
)
def test_no_text_of_a_change_reads_an_untracked_file(tmp_path: Path, name: str, front: str) -> None:
    made = checkout(tmp_path / "tree", {"src/cache.h": HEADER})
    secret = made.root / name
    secret.parent.mkdir(exist_ok=True)
    secret.write_text(f"{HIDDEN} {HIDDEN}_t;\n")
    said = judged(tmp_path, front.replace("@", f"../{name}"))
    assert HIDDEN not in said
    assert "does not compile" in said or "cannot be" in said


def test_an_error_in_a_file_outside_of_the_change_is_not_quoted(tmp_path: Path) -> None:
    """The file may be tracked, and is still none of the author's business where the lint runs."""
    checkout(tmp_path / "tree", {"src/cache.h": HEADER, "src/token.txt": f"{HIDDEN} {HIDDEN}_t;\n"})
    said = judged(tmp_path, '#include "token.txt"\n')
    assert "there is an error at src/token.txt:1" in said
    assert HIDDEN not in said


def test_a_generated_header_is_read_with_build_alone(tmp_path: Path) -> None:
    made = checkout(tmp_path / "tree", {"src/cache.h": HEADER})
    write_files(made.root, {"src/config.h": "#define A 1\n", "src/.env": f"{HIDDEN}\n"})
    assert "config.h is not among the sources" in judged(tmp_path, '#include "config.h"\n')
    assert "does not compile" not in judged(tmp_path, '#include "config.h"\n', "--build", str(made.root))
    assert HIDDEN not in judged(tmp_path, '#include ".env"\n', "--build", str(made.root))


def test_what_is_visible_of_a_checkout(tmp_path: Path) -> None:
    made = checkout(tmp_path / "tree", {"a.h": "", "src/b.h": "", "src/deep/c.h": "", "docs/d.txt": ""})
    write_files(made.root, {".env": "", "src/note.txt": "", "out/x.h": "", "out/x.o": ""})
    places = [str(place.relative_to(made.root)) for place in visible_files(made.root)]
    assert places == ["a.h", "docs", "src/b.h", "src/deep"]
    built = [str(place.relative_to(made.root)) for place in visible_files(made.root, (made.root / "out",))]
    assert built == ["a.h", "docs", "src/b.h", "src/deep", "out/x.h"]


def test_a_tree_outside_of_git_is_visible_as_a_whole(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.h": "", "src/b.h": ""})
    assert [place.name for place in visible_files(tmp_path)] == ["a.h", "src"]


def test_the_untracked_files_of_a_submodule_are_hidden_too(tmp_path: Path) -> None:
    inner = checkout(tmp_path / "inner", {"lib.h": ""})
    outer = checkout(tmp_path / "tree", {"a.h": ""})
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.root), "lib")
    write_files(outer.root, {"lib/.env": ""})
    places = [str(place.relative_to(outer.root)) for place in visible_files(outer.root)]
    assert places == [".gitmodules", "a.h", "lib/lib.h"]


@pytest.mark.parametrize("target", ["/etc/hostname", "../../secret", "/proc/self/environ", "/dev/zero"])
def test_a_link_out_of_the_tree_is_not_opened(tmp_path: Path, target: str) -> None:
    (tmp_path / "secret").write_text(HIDDEN)
    tree = write_files(tmp_path / "tree", {"src/a.h": ""})
    (tree / "src" / "link.h").symlink_to(target)
    assert source_bytes(tree, "src/link.h") is None
    assert source_bytes(tree, "src/../../secret") is None


def test_a_link_within_the_tree_is_followed(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"src/a.h": "int a;\n"})
    (tree / "relative.h").symlink_to("src/a.h")
    (tree / "absolute.h").symlink_to(tree / "src/a.h")
    assert source_bytes(tree, "relative.h") == source_bytes(tree, "absolute.h") == b"int a;\n"


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    subprocess.run(["mkfifo", str(tmp_path / "a.h")], check=True)
    assert source_bytes(tmp_path, "a.h") is None
