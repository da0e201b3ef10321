# SPDX-License-Identifier: GPL-2.0-or-later
"""From candidate to verified patch on a small tree, with real compilers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from patch_cases import behind, candidate, finding, layout, write_files

from linesmith.analyzer.errors import EditRefused, TreeError, VerificationFailed
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import (
    Candidate,
    HolderChange,
    Layout,
    LineObject,
    MemoryUse,
    Move,
    MoveKind,
    Outcome,
    Patch,
    Residual,
    SlabBasis,
    VariableRow,
)
from linesmith.patches.beyond import OF_ANOTHER_BUILD, Beyond
from linesmith.patches.confirmed import confirm
from linesmith.patches.patch import Tree, draft, file_text, told, write

HEADER = """\
#ifndef CACHE_H
#define CACHE_H
#include "part.h"

struct cache {
\tstruct part *root;\t/* read by everyone */
\tlong lock;\t\t/* written by everyone */
\tchar name[56];
\tlong uses;
};
#endif
"""
FILES = {
    "src/cache.h": HEADER,
    "src/part.h": "struct part {\n\tint x;\n};\n",
    "src/cache.c": '#include "cache.h"\nstruct cache one;\nint main(void)\n{\n\treturn (int)one.uses;\n}\n',
}
BEFORE = [("root", 0, 8), ("lock", 8, 8), ("name", 16, 56), ("uses", 72, 8)]
AFTER = [("root", 0, 8), ("name", 8, 56), ("lock", 64, 8), ("uses", 72, 8)]
PARTED = Residual("root", "lock", 64, 0.875, 0.0)


def cache(members: Sequence[tuple[str, int, int]] = BEFORE, size: int = 80) -> Layout:
    return layout("cache", members, size, file="/elsewhere/src/cache.h", line=5, unit="/elsewhere/src/cache.c")


def proposal(after: Sequence[tuple[str, int, int]] = AFTER, size: int = 80) -> Candidate:
    return candidate(cache(), cache(after, size), [behind("lock", "name")], [PARTED])


def excerpt(shown: Layout, _layouts: Layouts, _names: frozenset[str], _marked: frozenset[str]) -> list[str]:
    return [f"{member.offset:4} {member.name}" for member in shown.members]


def patch_of(tree: Path, chosen: Candidate, **options: str) -> Patch:
    return write(chosen, finding(), Tree(tree, **options), 1, excerpt, lambda _: None)  # type: ignore[arg-type]


def stamps(tree: Path) -> dict[str, tuple[int, bytes]]:
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in tree.rglob("*") if path.is_file()}


def test_a_patch_is_written_confirmed_and_applies(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", FILES)
    before = stamps(tree)
    patch = patch_of(tree, proposal())
    assert stamps(tree) == before
    assert (patch.file, patch.exact, patch.notes) == ("src/cache.h", True, ())
    assert "compiled with" in patch.verified
    (tmp_path / "p").write_bytes(file_text(patch))
    for argv in (["git", "apply", "--check", "../p"], ["patch", "-p1", "-s", "-i", "../p"]):
        subprocess.run(argv, cwd=tree, check=True, capture_output=True, timeout=300)
    moved = "\tlong lock;\t\t/* written by everyone */\n"
    assert (tree / "src" / "cache.h").read_text() == HEADER.replace(moved, "").replace(
        "name[56];\n", f"name[56];\n{moved}"
    )


def test_the_message_tells_what_is_known_and_what_is_not(tmp_path: Path) -> None:
    message = patch_of(write_files(tmp_path, FILES), proposal()).message
    flowing = " ".join(message.split())
    assert message.startswith("cache: separate root from lock in struct cache\n\n")
    assert "200 contended loads and 100 sampled stores (50.0% of" in flowing
    assert "Move lock behind name. The size stays 80 bytes." in flowing
    assert "meet in these shares of the possible starts, before -> after, on 64 bytes: root and lock:" in flowing
    assert "\n  root and lock: 7 of 8 -> 0 of 8\n" in message
    assert "No benchmark has been run." in flowing
    assert "Signed-off-by" not in message
    assert all(len(line) <= 75 for line in message.splitlines())


def test_the_message_counts_no_stores_where_none_was_sampled(tmp_path: Path) -> None:
    unsampled = replace(finding(), stores=0, members=tuple(replace(one, writes=0) for one in finding().members))
    tree = Tree(write_files(tmp_path, FILES))
    message = write(proposal(), unsampled, tree, 1, excerpt, lambda _: None).message
    assert "\n\nSeen on the line, with sampled loads (no store was sampled):\n\n" in message
    assert "stores" not in message


def test_the_message_says_that_the_profile_is_of_another_build(tmp_path: Path) -> None:
    """As the code addresses of a pasted report tell; the layout before is that of the file all the same."""
    tree = Tree(write_files(tmp_path, FILES))
    confirmed = confirm(proposal(), tree, lambda _: None)
    said = Beyond(profile=OF_ANOTHER_BUILD)
    flowing = " ".join(told(proposal(), finding(), tree, 1, excerpt, confirmed, beyond=said).message.split())
    assert (
        "the layout after is as predicted. The profile is of another build: its code addresses are not those of the ELF"
        " file. Not checked:"
    ) in flowing


def test_a_pair_has_one_line_in_a_message_and_many_pairs_are_counted(tmp_path: Path) -> None:
    pairs = [("root", "lock"), ("lock", "name"), ("lock", "uses"), ("root", "name"), ("root", "uses"), ("name", "uses")]
    pairs += [(second, first) for first, second in pairs]
    met = tuple(Residual(*pair, size, 1.0, 1.0) for pair in pairs for size in (64, 128))
    message = patch_of(write_files(tmp_path, FILES), replace(proposal(), residuals=met)).message
    assert "  root and lock: 7 of 8 -> 0 of 8; 15 of 16 -> 8 of 16\n" in message
    assert "  lock and uses: 0 of 8 -> 7 of 8; 8 of 16 -> 15 of 16\n" in message
    assert "\n  4 more pairs: no more often than before\n" in message


def test_the_message_of_a_simulated_profile_claims_no_measurement(tmp_path: Path) -> None:
    tree = Tree(write_files(tmp_path, FILES))
    simulated = replace(finding(), simulated="8 CPUs under qemu")
    message = write(proposal(), simulated, tree, 1, excerpt, lambda _: None).message
    flowing = " ".join(message.split())
    assert (
        "In a simulation of the private caches of 8 CPUs under qemu, which counts every access and no time" in flowing
    )
    assert "200 accesses that find it modified in another CPU's cache (50.0% of all such accesses)" in flowing
    assert "sampled" not in message


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
def test_the_flags_of_a_compilation_database_decide(tmp_path: Path, compiler: str) -> None:
    header = HEADER.replace("\tlong uses;\n", "#ifdef LONG\n\tlong uses;\n#else\n\tchar uses[8];\n#endif\n")
    tree = write_files(tmp_path, {**FILES, "src/cache.h": header})
    entry = {
        "directory": str(tree / "src"),
        "file": "cache.c",
        "command": f"{compiler} -DLONG -O2 -c -o cache.o cache.c",
    }
    (tree / "compile_commands.json").write_text(json.dumps([entry]), encoding="utf-8")
    patch = patch_of(tree, proposal())
    assert patch.exact
    assert any(f"&& {compiler} " in command and "-DLONG" in command for command in patch.commands)


def test_another_configuration_is_told_and_its_own_layout_checked(tmp_path: Path) -> None:
    header = HEADER.replace("\tlong uses;\n", "\tlong uses;\n\tlong more[4];\n")
    patch = patch_of(write_files(tmp_path, {**FILES, "src/cache.h": header}), proposal())
    assert not patch.exact
    assert "another configuration" in patch.notes[0]
    assert "`more` is only in the source" in patch.notes[0]
    assert "80 bytes there, 112 here" in " ".join(patch.message.split())


def test_a_configuration_in_which_the_pair_still_meets_gets_no_patch(tmp_path: Path) -> None:
    header = HEADER.replace("name[56]", "name[8]")
    with pytest.raises(VerificationFailed, match="`root` and `lock` still meet on a line of 64 bytes in 75%"):
        patch_of(write_files(tmp_path, {**FILES, "src/cache.h": header}), proposal())


def test_a_configuration_in_which_the_record_grows_gets_no_patch(tmp_path: Path) -> None:
    header = HEADER.replace("name[56]", "name[60]").replace("long uses", "int uses")
    with pytest.raises(VerificationFailed, match="grows from 80 to 88 bytes, 0 more were predicted"):
        patch_of(write_files(tmp_path, {**FILES, "src/cache.h": header}), proposal())


def test_a_prediction_that_the_compiler_denies_gets_no_patch(tmp_path: Path) -> None:
    wrong = [("root", 0, 8), ("name", 8, 56), ("lock", 72, 8), ("uses", 80, 8)]
    with pytest.raises(VerificationFailed, match="another layout than predicted: `lock` is at byte 64 with 8 bytes"):
        patch_of(write_files(tmp_path, FILES), proposal(wrong, 88))


def test_a_broken_assertion_is_reported_in_the_compilers_words(tmp_path: Path) -> None:
    header = HEADER.replace(
        "#endif\n", '_Static_assert(__builtin_offsetof(struct cache, lock) == 8, "lock moved");\n#endif\n'
    )
    with pytest.raises(
        VerificationFailed, match=r"^src/cache\.h does not compile: src/cache\.h:11: static assertion failed"
    ):
        patch_of(write_files(tmp_path, {**FILES, "src/cache.h": header}), proposal())


def test_a_header_that_never_compiled_is_told_apart_from_a_broken_patch(tmp_path: Path) -> None:
    files = {**FILES, "src/part.h": "#error no parts\n"}
    with pytest.raises(
        VerificationFailed,
        match=r"^before any change, src/cache\.h does not compile: there is an error at src/part\.h:1",
    ):
        patch_of(write_files(tmp_path, files), proposal())


def test_a_header_that_cannot_stand_alone_compiles_through_its_unit(tmp_path: Path) -> None:
    files = {
        "src/cache.h": HEADER.replace('#include "part.h"\n', "typedef part_t own_t;\n"),
        "src/part.h": FILES["src/part.h"] + "typedef struct part part_t;\n",
        "src/cache.c": '#include "part.h"\n' + FILES["src/cache.c"],
    }
    assert patch_of(write_files(tmp_path, files), proposal()).exact


def test_a_neighbour_that_includes_the_header_gets_the_patched_one(tmp_path: Path) -> None:
    files = {
        "src/cache.h": HEADER.replace('#include "part.h"\n', "typedef part_t own_t;\n"),
        "src/part.h": FILES["src/part.h"] + "typedef struct part part_t;\n",
        "src/all.h": '#include "part.h"\n#include "cache.h"\n',
        "src/cache.c": '#include "all.h"\nstruct cache one;\n',
    }
    assert patch_of(write_files(tmp_path, files), proposal()).exact


def test_a_record_declared_in_a_source_file_is_patched_there(tmp_path: Path) -> None:
    files = {"src/part.h": FILES["src/part.h"], "src/cache.c": HEADER + "struct cache one;\n"}
    patch = patch_of(write_files(tmp_path, files), proposal())
    assert (patch.file, patch.exact) == ("src/cache.c", True)


def test_a_record_the_configuration_leaves_out_is_told(tmp_path: Path) -> None:
    header = f"#ifdef LEFT_OUT\n{HEADER}#endif\n"
    with pytest.raises(
        VerificationFailed, match=r"src/cache\.h does not define struct cache in the tree's configuration"
    ):
        patch_of(write_files(tmp_path, {**FILES, "src/cache.h": header}), proposal())
    assert patch_of(tmp_path, proposal(), cflags="-DLEFT_OUT").exact


def test_an_option_that_is_not_used_is_told(tmp_path: Path) -> None:
    patch = patch_of(write_files(tmp_path, FILES), proposal(), cflags="-O2 -nosuch")
    assert patch.notes == ("compiler options of --cflags left out, because no layout depends on them: -nosuch",)
    assert patch.verified.endswith("; cc -O2")


def test_an_alignment_is_written_and_confirmed(tmp_path: Path) -> None:
    aligned = [("root", 0, 8), ("lock", 64, 8), ("name", 72, 56), ("uses", 128, 8)]
    chosen = candidate(cache(), cache(aligned, 192), [Move(MoveKind.ALIGN, "lock", align=64)], [PARTED])
    patch = patch_of(write_files(tmp_path, FILES), chosen)
    assert "+\tlong lock __attribute__((aligned(64)));\t/* written by everyone */\n" in patch.diff
    assert "The size goes from 80 to 192 bytes." in patch.message


def test_bytes_that_are_no_text_survive(tmp_path: Path) -> None:
    tree = write_files(tmp_path, FILES)
    source = HEADER.encode().replace(b"read by", b"read\xff by").replace(b"\n", b"\r\n")
    (tree / "src" / "cache.h").write_bytes(source)
    content = file_text(patch_of(tree, proposal()))
    assert b" \tstruct part *root;\t/* read\xff by everyone */\r\n" in content
    (tmp_path / "p").write_bytes(content)
    subprocess.run(["git", "apply", "p"], cwd=tree, check=True, capture_output=True, timeout=300)
    assert sorted((tree / "src" / "cache.h").read_bytes().split(b"\n")) == sorted(source.split(b"\n"))


def test_what_user_space_shares_is_not_moved(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"include/uapi/linux/cache.h": HEADER})
    with pytest.raises(EditRefused, match="shared with user space"):
        draft(proposal(), Tree(tree))


def test_a_tree_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="is no directory; --tree takes the root"):
        draft(proposal(), Tree(tmp_path / "nowhere"))


def test_a_draft_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = write_files(tmp_path, FILES)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert draft(proposal(), Tree(tree)).diff.count(b"\n+\t") == 1


@pytest.mark.parametrize("database", ["[]", "{}", "[{", '[{"directory": 1}]'])
def test_a_broken_database_is_named(tmp_path: Path, database: str) -> None:
    tree = write_files(tmp_path, {**FILES, "compile_commands.json": database})
    with pytest.raises(TreeError, match=r"compile_commands\.json .*--cflags"):
        patch_of(tree, proposal())


def aligned() -> Candidate:
    """The lock on a line of its own, in objects of which some slabs do not keep to that."""
    after = [("root", 0, 8), ("lock", 64, 8), ("name", 72, 56), ("uses", 128, 8)]
    base = candidate(cache(), cache(after, 192), [Move(MoveKind.ALIGN, "lock", align=64)], [PARTED])
    uses = [MemoryUse("inodes", SlabBasis.COMPUTED, size, size, 3, 32768 // size, 0, 0) for size in (560, 704)]
    holders = (HolderChange("struct inode", 560, 704, (uses[0], uses[1])), HolderChange("struct table", 96, 256))
    return replace(base, holders=holders, granules=(8, 8), loose=("inodes", "a", "b", "c"))


def test_the_message_tells_what_becomes_of_the_records_around(tmp_path: Path) -> None:
    flowing = " ".join(patch_of(write_files(tmp_path, FILES), aligned()).message.split())
    assert (
        "Align lock to 64 bytes. The size goes from 80 to 192 bytes. What holds one by value changes its size with it: "
        "struct inode from 560 to 704 bytes (58 -> 46 in a slab of 8 pages), struct table from 96 to 256 bytes. "
    ) in flowing


def test_an_alignment_that_slabs_do_not_keep_limits_no_phases(tmp_path: Path) -> None:
    message = patch_of(write_files(tmp_path, FILES), aligned()).message
    assert "can start at any multiple of 8 bytes" in " ".join(message.split())
    assert "The alignment of 64 bytes is not kept in slabs of inodes, a, b and 1 more." in " ".join(message.split())
    assert "\n  root and lock: 7 of 8 -> 0 of 8\n" in message


def test_an_alignment_that_all_keep_leaves_one_phase(tmp_path: Path) -> None:
    message = patch_of(write_files(tmp_path, FILES), replace(aligned(), granules=(8, 64), loose=())).message
    assert "\n  root and lock: 7 of 8 -> 0 of 1\n" in message
    assert "is not kept" not in message


@pytest.mark.parametrize(("first", "told_so"), [(32, "1 of 1 -> 0 of 1"), (56, "0 of 1 -> 0 of 1")])
def test_a_variable_is_counted_where_it_lies(tmp_path: Path, first: int, told_so: str) -> None:
    chosen = replace(proposal(), granules=(128, 128), firsts=(first, first))
    one = LineObject("cache", 1, first, first, 1.0, Outcome.RESOLVED, row=VariableRow("one", first, 80))
    line = replace(finding(), objects=(one,))
    message = write(chosen, line, Tree(write_files(tmp_path, FILES)), 1, excerpt, lambda _: None).message
    assert (
        "the variable one is counted where the linker put it, which another build may do otherwise, and starts at byte "
        f"{first} of a line in the profile."
    ) in " ".join(message.split())
    assert f"\n  root and lock: {told_so}\n" in message
