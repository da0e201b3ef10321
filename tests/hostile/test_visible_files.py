# SPDX-License-Identifier: GPL-2.0-or-later
"""A compile sees the tracked files of a checkout, and nothing else of the machine but its toolchain.

A compiler that is confined reads the sources that it may read and nothing else, whatever they ask for.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest
from linesmith_command import linesmith
from lint_commits import Commits, repository
from patch_cases import write_files

from linesmith.analyzer.base.child import Command, Ended, run
from linesmith.analyzer.base.errors import VerificationFailed
from linesmith.patches.build.confinement import Confinement, is_confinable
from linesmith.patches.build.probe import check_reads
from linesmith.patches.series.mails import unified_diff
from linesmith.patches.source.tree import source_bytes, visible_files

pytestmark = pytest.mark.skipif(not is_confinable(), reason="this kernel has no Landlock")

HIDDEN = "ossifrage"
HEADER = "struct cache {\n\tlong root;\n\tlong uses;\n};\n"


def checkout(folder: Path, files: dict[str, str]) -> Commits:
    made = repository(folder)
    made.git("reset", "-q", "--hard", made.commit(files))
    return made


def judged(folder: Path, fronts: dict[str, str], *options: str) -> str:
    """What ``lint --patch`` and ``diff --patch`` say of a change that puts a text in front of each of these headers."""
    patch = b""
    for name, front in fronts.items():
        before = (folder / "tree" / name).read_text()
        after = front + before.replace("\tlong uses;\n", "\tlong uses;\n\tlong more[9];\n")
        patch += unified_diff(before.encode(), after.encode(), name)
    said = ""
    for word in ("lint", "diff"):
        done = linesmith(word, "--patch", "-", "--tree", folder / "tree", *options, stdin=patch.decode())
        said += done.stdout + done.stderr
        assert "Traceback" not in done.stderr
    return said


FRONTS = ('#include "@"\n', '#define X "@"\n#include X\n', 'asm(".incbin \\"@\\"");\n')
UNTRACKED = (".env", "secrets.h", "keys/id_rsa", ".git/config", "../beside.h", "build/secret.txt")


def test_no_text_of_a_change_reads_an_untracked_file(tmp_path: Path) -> None:
    fronts = [*(FRONTS[0].replace("@", f"../{name}") for name in UNTRACKED)]
    fronts += [front.replace("@", f"../{UNTRACKED[0]}") for front in FRONTS[1:]]
    headers = {f"src/{number}.h": front for number, front in enumerate(fronts)}
    made = checkout(tmp_path / "tree", {name: HEADER.replace("cache", f"cache{name[4]}") for name in headers})
    for name in UNTRACKED:
        (made.root / name).parent.mkdir(exist_ok=True)
        (made.root / name).write_text(f"{HIDDEN} {HIDDEN}_t;\n")
    said = judged(tmp_path, headers)
    assert HIDDEN not in said
    assert [name for name in headers if name not in said] == []
    assert said.count("does not compile") + said.count("cannot be") >= len(headers)


def test_an_error_in_a_file_outside_of_the_change_is_not_quoted(tmp_path: Path) -> None:
    """The file may be tracked, and is still none of the author's business where the lint runs."""
    checkout(tmp_path / "tree", {"src/cache.h": HEADER, "src/token.txt": f"{HIDDEN} {HIDDEN}_t;\n"})
    said = judged(tmp_path, {"src/cache.h": '#include "token.txt"\n'})
    assert "there is an error at src/token.txt:1" in said
    assert HIDDEN not in said


def test_a_generated_header_is_read_with_build_alone(tmp_path: Path) -> None:
    made = checkout(tmp_path / "tree", {"src/cache.h": HEADER})
    write_files(made.root, {"src/config.h": "#define A 1\n", "src/.env": f"{HIDDEN}\n"})
    assert "config.h is not among the sources" in judged(tmp_path, {"src/cache.h": '#include "config.h"\n'})
    assert "does not compile" not in judged(
        tmp_path, {"src/cache.h": '#include "config.h"\n'}, "--build", str(made.root)
    )
    assert HIDDEN not in judged(tmp_path, {"src/cache.h": '#include ".env"\n'}, "--build", str(made.root))


def test_what_is_visible_of_a_checkout_and_of_a_tree_outside_of_git(tmp_path: Path) -> None:
    made = checkout(tmp_path / "tree", {"a.h": "", "src/b.h": "", "src/deep/c.h": "", "docs/d.txt": ""})
    write_files(made.root, {".env": "", "src/note.txt": "", "out/x.h": "", "out/x.o": ""})
    places = [str(place.relative_to(made.root)) for place in visible_files(made.root)]
    assert places == ["a.h", "docs", "src/b.h", "src/deep"]
    built = [str(place.relative_to(made.root)) for place in visible_files(made.root, (made.root / "out",))]
    assert built == ["a.h", "docs", "src/b.h", "src/deep", "out/x.h"]
    write_files(tmp_path / "plain", {"a.h": "", "src/b.h": ""})
    assert [place.name for place in visible_files(tmp_path / "plain")] == ["a.h", "src"], "all of it"


def test_the_untracked_files_of_a_submodule_are_hidden_too(tmp_path: Path) -> None:
    inner = checkout(tmp_path / "inner", {"lib.h": ""})
    outer = checkout(tmp_path / "tree", {"a.h": ""})
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.root), "lib")
    write_files(outer.root, {"lib/.env": ""})
    places = [str(place.relative_to(outer.root)) for place in visible_files(outer.root)]
    assert places == [".gitmodules", "a.h", "lib/lib.h"]


def test_a_link_out_of_the_tree_is_not_opened_and_a_fifo_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(HIDDEN)
    tree = write_files(tmp_path / "tree", {"src/a.h": ""})
    for number, target in enumerate(("/etc/hostname", "../../secret", "/proc/self/environ", "/dev/zero")):
        (tree / "src" / f"{number}.h").symlink_to(target)
        assert source_bytes(tree, f"src/{number}.h") is None, target
    assert source_bytes(tree, "src/../../secret") is None
    os.mkfifo(tree / "fifo.h")
    assert source_bytes(tree, "fifo.h") is None


def test_a_link_within_the_tree_is_followed(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"src/a.h": "int a;\n"})
    (tree / "relative.h").symlink_to("src/a.h")
    (tree / "absolute.h").symlink_to(tree / "src/a.h")
    assert source_bytes(tree, "relative.h") == source_bytes(tree, "absolute.h") == b"int a;\n"


WORDS = "squeamish ossifrage"
ASKED = tomllib.loads(Path(__file__).with_name("sources").joinpath("fronts.toml").read_text())


def compile_(folder: Path, text: str, *options: str) -> Ended:
    """Compile ``text`` where only ``folder/work`` can be reached; ``WORDS`` lies in ``folder/secret``."""
    work = folder / "work"
    work.mkdir()
    (folder / "secret").write_text(f"{WORDS}\n")
    (work / "a.c").write_text(text.replace("SECRET", str(folder / "secret")))
    argv = ("gcc", "-g", *options, "-c", "-o", str(work / "a.o"), str(work / "a.c"))
    return run(Command(argv, work, 60, Confinement((work,), (work,))))


def test_what_is_needed_is_reached(tmp_path: Path) -> None:
    done = compile_(tmp_path, '#include <stdio.h>\n#include <stddef.h>\nint f(void) { asm("nop"); return 0; }\n')
    assert (done.status, done.output) == (0, "")


@pytest.mark.parametrize("text", ASKED["compiled"])
def test_nothing_else_is(tmp_path: Path, text: str) -> None:
    (tmp_path / "link.h").symlink_to(tmp_path / "secret")
    done = compile_(tmp_path, text.replace("LINK", f"{tmp_path}/link.h"), "-trigraphs")
    assert done.status
    assert "ossifrage" not in done.output
    assert not (tmp_path / "work" / "a.o").exists()


def test_without_confinement_it_would_be(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{WORDS}\n")
    (tmp_path / "a.c").write_text(f'#include "{tmp_path}/secret"\n')
    assert "ossifrage" in run(Command(("gcc", "-c", str(tmp_path / "a.c")), tmp_path, 60)).output


def test_nothing_is_written_elsewhere(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    within = Confinement((), (folder,))
    done = run(Command(("cp", "/usr/bin/env", str(tmp_path / "out")), folder, 60, within))
    assert done.status
    assert run(Command(("cp", "/usr/bin/env", str(folder / "out")), folder, 60, within)).status == 0


def test_memory_has_a_limit(tmp_path: Path) -> None:
    done = run(Command(("sh", "-c", "ulimit -v"), tmp_path, 60, Confinement((), (tmp_path,))))
    assert int(done.output) <= 4 << 20


@pytest.mark.parametrize(
    "text", ['#include "SECRET"\n', '#define W "SECRET"\n#include W\n', "#include MISSING\n", '#include "b c.h"\n']
)
def test_without_landlock_what_is_included_is_looked_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Headers of the system and of the sources may be read."""
    monkeypatch.setattr("linesmith.patches.build.probe.is_confinable", lambda: False)
    (tmp_path / "secret").write_text(f"{WORDS}\n")
    (work := tmp_path / "work").mkdir()
    (work / "b c.h").write_text("")
    (work / "a.c").write_text("#include <stdio.h>\n" + text.replace("SECRET", str(tmp_path / "secret")))
    words = ("gcc", "-c", "-o", str(work / "a.o"), str(work / "a.c"))
    command = Command(words, work, 60, Confinement((work,), (work,)))
    if "b c.h" in text:
        check_reads(command, work / "list")
        return
    with pytest.raises(VerificationFailed) as raised:
        check_reads(command, work / "list")
    assert "ossifrage" not in str(raised.value)
