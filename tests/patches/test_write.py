# SPDX-License-Identifier: GPL-2.0-or-later
"""From candidate to verified patch on a small tree, with real compilers."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from patch_cases import behind, candidate, finding, layout, stamps, write_files

from linesmith.analyzer.base.errors import EditRefused, TreeError, VerificationFailed
from linesmith.analyzer.model import (
    Candidate,
    Finding,
    HolderChange,
    Interval,
    JudgedPair,
    Judgement,
    Layout,
    LineMember,
    MemberFunction,
    MemoryUse,
    Move,
    MoveKind,
    Patch,
    Residual,
    SlabBasis,
    Triage,
)
from linesmith.patches.edit.patch import confirm, draft, file_text, patch_of
from linesmith.patches.message.paragraphs import FurtherChecks
from linesmith.patches.message.trouble import ProfileOrigin
from linesmith.patches.source.tree import Tree

SOURCES = Path(__file__).with_name("sources")
HEADER = (SOURCES / "small_cache.h").read_text()
MESSAGE = Path(__file__).with_name("cases") / "message.txt"
FILES = {
    "src/cache.h": HEADER,
    "src/part.h": "struct part {\n\tint x;\n};\n",
    "src/cache.c": '#include "cache.h"\nstruct cache one;\nint main(void)\n{\n\treturn (int)one.uses;\n}\n',
}
BEFORE = [("root", 0, 8), ("lock", 8, 8), ("name", 16, 56), ("uses", 72, 8)]
AFTER = [("root", 0, 8), ("name", 8, 56), ("lock", 64, 8), ("uses", 72, 8)]
ALIGNED = [("root", 0, 8), ("lock", 64, 8), ("name", 72, 56), ("uses", 128, 8)]
PARTED = Residual("root", "lock", 64, 0.875, 0.0)


def cache(members: Sequence[tuple[str, int, int]] = BEFORE, size: int = 80) -> Layout:
    return layout("cache", members, size, file="/elsewhere/src/cache.h", line=5, unit="/elsewhere/src/cache.c")


def proposal(after: Sequence[tuple[str, int, int]] = AFTER, size: int = 80) -> Candidate:
    return candidate(cache(), cache(after, size), [behind("lock", "name")], [PARTED])


def aligned() -> Candidate:
    """The lock on a line of its own, in objects of which some slabs do not keep to that."""
    base = candidate(cache(), cache(ALIGNED, 192), [Move(MoveKind.ALIGN, "lock", align=64)], [PARTED])
    uses = [MemoryUse("inodes", SlabBasis.COMPUTED, size, size, 3, 32768 // size, 0, 0) for size in (560, 704)]
    holders = (HolderChange("struct inode", 560, 704, (uses[0], uses[1])), HolderChange("struct table", 96, 256))
    return replace(base, holders=holders, granules=(8, 8), loose=("inodes", "a", "b", "c"))


def patched(
    tree: Path, changed: dict[str, str] | None = None, chosen: Candidate | None = None, line: Finding | None = None,
    **options: str,
) -> Patch:  # fmt: skip
    """The patch in a tree of ``FILES``, of which some are ``changed``."""
    made = Tree(write_files(tree, FILES | (changed or {})), **options)  # type: ignore[arg-type]
    return written(made, chosen or proposal(), line or finding())


def written(tree: Tree, chosen: Candidate, line: Finding) -> Patch:
    return patch_of(chosen, line, tree, 1, confirm(chosen, tree, lambda _: None))


def flowing(text: str) -> str:
    return " ".join(text.split())


def test_a_patch_is_written_confirmed_and_applies(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", FILES)
    before = stamps(tree)
    patch = written(Tree(tree), proposal(), finding())
    assert stamps(tree) == before
    assert (patch.file, patch.exact, patch.notes) == ("src/cache.h", True, ())
    assert "compiled with" in patch.verified
    assert re.sub(r"cc \(.*", "COMPILER and", str(patch.message)) == MESSAGE.read_text()
    assert all(len(line) <= 75 for line in str(patch.message).splitlines())
    (tmp_path / "p").write_bytes(file_text(patch))
    for argv in (["git", "apply", "--check", "../p"], ["patch", "-p1", "-s", "-i", "../p"]):
        subprocess.run(argv, cwd=tree, check=True, capture_output=True, timeout=300)
    moved = "\tlong lock;\t\t/* written by everyone */\n"
    assert (tree / "src" / "cache.h").read_text() == HEADER.replace(moved, "").replace(
        "name[56];\n", f"name[56];\n{moved}"
    )


@pytest.mark.parametrize(
    ("file", "prefix"),
    [
        ("include/linux/fs.h", "fs"),
        ("include/linux/mm_types.h", "mm"),
        ("include/linux/sched/signal.h", "sched"),
        ("include/net/tcp.h", "net"),
        ("kernel/sched/sched.h", "sched"),
        ("arch/x86/include/asm/processor.h", "x86"),
        ("bench.c", "bench"),
    ],
)
def test_the_path_gives_the_word_in_front_of_the_subject(tmp_path: Path, file: str, prefix: str) -> None:
    header = HEADER.replace('#include "part.h"\n', "").replace("struct part", "struct other")
    message = str(patched(tmp_path, {"src/cache.h": "", "src/cache.c": "", file: header}).message)
    assert message.startswith(f"{prefix}: separate root from lock in struct cache\n")


def member(name: str, function: str, contended: int, stores: int = 0) -> LineMember:
    return LineMember(name, 0, 0, 8, contended, stores, (MemberFunction(function, contended, stores),))


def test_the_message_says_who_reads_and_writes_what(tmp_path: Path) -> None:
    members = (member("lock.word", "take", 40, 100), member("uses", "count", 30), member("root", "look", 160))
    said = str(patched(tmp_path, line=replace(finding(), members=members)).message)
    assert (
        "In struct cache, root shares a cache line with lock, which is written. The profile has 200 contended loads "
        "and 100 stores on the line, 50% of those of the profile: "
        "root: 160 contended; loads by look "
        "lock: 40 contended, 100 stores; loads by take; stores by take "
        "uses: 30 contended; loads by count "
    ) in flowing(said)


def test_where_no_store_was_sampled_the_code_tells_who_writes(tmp_path: Path) -> None:
    take = MemberFunction("take", 40, 0, writes_inferred="taking a lock writes it")
    lock = LineMember("lock", 0, 0, 8, 40, 0, (take,), write_inferred="taking a lock writes it", lock=True)
    unsampled = replace(finding(), stores=0, members=(lock,))
    said = flowing(str(patched(tmp_path, line=unsampled).message))
    assert "has 200 contended loads and no stores (writers are known from the code) on the line" in said
    assert "lock: 40 contended; loads by take; stores by take " in said


def test_pairs_that_meet_less_or_more_often_are_listed_and_counted(tmp_path: Path) -> None:
    pairs = [("root", "lock"), ("lock", "name"), ("lock", "uses"), ("root", "name"), ("root", "uses"), ("name", "uses")]
    pairs += [("lock", "root"), ("uses", "lock"), ("uses", "name"), ("name", "root")]
    met = tuple(Residual(*pair, size, 1.0, 0.5) for pair in pairs for size in (64, 128))
    message = str(patched(tmp_path, chosen=replace(proposal(), residuals=met)).message)
    less = ("root and lock: 7 of 8 -> 0 of 8", "name and uses: 7 of 8 -> 6 of 8", "lock and root: 7 of 8 -> 0 of 8")
    more = ("lock and uses: 0 of 8 -> 7 of 8", "root and name: 6 of 8 -> 7 of 8", "uses and lock: 0 of 8 -> 7 of 8")
    rows = (*less, *more, "2 more pairs, 1 more often")
    assert "\n\n" + "".join(f"  {row}\n" for row in rows) + "\n" in message


def test_the_message_of_a_simulated_profile_claims_no_measurement(tmp_path: Path) -> None:
    said = flowing(str(patched(tmp_path, line=replace(finding(), simulated="8 CPUs under qemu")).message))
    assert "200 accesses that find the line modified in another CPU's cache (contended), 50% of those of the" in said
    assert "sampled" not in said


READ = LineMember("root", 0, 0, 8, 160, 0, (MemberFunction("look", 160, 0),))
LOCKED = LineMember("lock", 0, 0, 8, 9, 100, (MemberFunction("take", 9, 60), MemberFunction("drop", 0, 40)))
LOCKING = Triage(
    (), (), "false sharing of a with b; lock contention on lock (84% of the line), which no layout removes"
)


def judged(low: float, runs: int = 1) -> Candidate:
    """Of what the lock costs, readers of the root pay no more; those of a neighbour pay less."""
    pairs = [("root", "lock", False, 60.0, 0.0), ("name", "lock", False, 9.0, 5.0), ("root", "uses", False, 9.0, 2.0)]
    pairs += [("name", "neighbour.word", False, 8.0, 5.0), ("root", "lock", True, 4.0, 0.0)]
    found = Judgement(200, 120, Interval(low, -0.2), 1000, (), tuple(JudgedPair(*one) for one in pairs), runs)
    return replace(proposal(), judgement=found)


def message_of(tree: Path, chosen: Candidate, line: Finding, profiled: ProfileOrigin) -> str:
    made = Tree(write_files(tree, FILES))
    return file_text(patch_of(chosen, line, made, 1, confirm(chosen, made, lambda _: None), profiled=profiled)).decode()


def test_a_replayed_change_names_the_pairs_that_it_separates_and_what_remains(tmp_path: Path) -> None:
    seen = ProfileOrigin("a simulation of 8 CPUs", "sh -c x", (READ, LOCKED))
    text = message_of(tmp_path, judged(-0.5), replace(finding(), simulated="8 CPUs", triage=LOCKING), seen)
    assert (
        "In struct cache, root and name share a cache line with lock, which is written. Misses (loads and stores that "
        "fetch the line from another CPU) in a simulation of 8 CPUs, now -> predicted with the change: "
        "root misses after stores to lock: 64 -> 0; loads by look; stores by take and drop "
        "name misses after stores to lock: 9 -> 5; stores by take and drop "
        "name misses after stores to neighbour.word: 8 -> 5 "
        "all other misses on the struct, net: 9 fewer; what gets worse: nothing that the replay saw "
        "Move lock after name. This saves 8.0% of the misses of the profile (80% interval 4.0% to 10.0%): 80 of 1,000, "
        "estimated by replaying the recorded accesses. What no layout removes: lock contention on lock. "
    ) in flowing(text)
    assert "\n---\nWorkload:\n  sh -c x\n\nBefore sending: measure it on hardware with `linesmith bench" in text


def test_what_gets_worse_is_named_where_the_others_cost_more(tmp_path: Path) -> None:
    better = judged(-0.5)
    pairs = (*better.judgement.pairs[:1], JudgedPair("uses", "uses", true_sharing=True, before=3, after=40))
    chosen = replace(better, judgement=replace(better.judgement, after=180, pairs=pairs))
    text = message_of(tmp_path, chosen, finding(), ProfileOrigin())
    worse = "what gets worse: uses misses after stores to itself: 3 -> 40; the saving is net of it"
    assert flowing(text).count(f"all other misses on the struct, net: 40 more, with {worse} Move lock") == 1
    assert flowing(text).count("gets worse") == 1


def test_what_remains_on_another_line_of_the_record_is_not_of_this_change(tmp_path: Path) -> None:
    line = replace(finding(), members=(member("uses", "count", 30),), triage=LOCKING)
    assert "What no layout" not in message_of(tmp_path, judged(-0.5), line, ProfileOrigin())


def test_an_interval_that_includes_0_comes_first(tmp_path: Path) -> None:
    chosen = judged(-0.5, 30)
    chosen = replace(chosen, judgement=replace(chosen.judgement, interval=Interval(-0.5, 0.1)))
    text = message_of(tmp_path, chosen, finding(), ProfileOrigin())
    assert text.split("\n\n")[1] == (
        "Not distinguishable from no change (80% interval -2.0% to 10.0% of the\ncontended loads)."
    )
    assert "(loads and stores that fetch the line from another CPU, scaled to the contended loads)" in flowing(text)
    assert "root misses after stores to lock: 64 -> 0" in text


def test_a_message_has_at_most_45_lines_above_the_patch(tmp_path: Path) -> None:
    members = tuple(member(f"member_{at}", f"a_function_with_a_long_name_{at}" * 2, 9, 9) for at in range(20))
    further = FurtherChecks("Checked elsewhere. " * 20, "others", "In the units. " * 20, "code", "Details.\n" * 9)
    confirmed = confirm(proposal(), Tree(write_files(tmp_path, FILES)), lambda _: None)
    line = replace(finding(), members=members)
    patch = patch_of(proposal(), line, Tree(tmp_path), 1, confirmed, further)
    assert str(patch.message).count("\n") <= 45
    assert b"---\nDetails.\n" in file_text(patch)


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
def test_the_flags_of_a_compilation_database_decide(tmp_path: Path, compiler: str) -> None:
    header = HEADER.replace("\tlong uses;\n", "#ifdef LONG\n\tlong uses;\n#else\n\tchar uses[8];\n#endif\n")
    command = f"{compiler} -DLONG -O2 -c -o cache.o cache.c"
    entry = {"directory": str(tmp_path / "src"), "file": "cache.c", "command": command}
    patch = patched(tmp_path, {"src/cache.h": header, "compile_commands.json": json.dumps([entry])})
    assert patch.exact
    assert any(f"&& {compiler} " in command and "-DLONG" in command for command in patch.commands)


def test_another_configuration_is_told_and_its_own_layout_checked(tmp_path: Path) -> None:
    patch = patched(tmp_path, {"src/cache.h": HEADER.replace("\tlong uses;\n", "\tlong uses;\n\tlong more[4];\n")})
    assert not patch.exact
    assert "another configuration" in patch.notes[0]
    assert "`more` is only in the source" in patch.notes[0]
    assert "80 bytes there, 112 here" in flowing(str(patch.message))


# What becomes of the header, or of the one that it includes, and the reason why there is no patch.
ASSERTED = '_Static_assert(__builtin_offsetof(struct cache, lock) == 8, "lock moved");\n#endif\n'
MEETS = HEADER.replace("name[56]", "name[8]")
GROWS = HEADER.replace("name[56]", "name[60]").replace("long uses", "int uses")
UNSUITED = [
    ("cache.h", MEETS, "`root` and `lock` still meet on a line of 64 bytes in 75%"),
    ("cache.h", GROWS, "grows from 80 to 88 bytes, 0 more were predicted"),
    ("cache.h", HEADER.replace("#endif\n", ASSERTED), r"^src/cache\.h does not compile: src/cache\.h:11: static"),
    ("part.h", "#error x\n", r"^before any change, src/cache\.h does not compile: there is an error at src/part\.h:1"),
    ("cache.h", f"#ifdef A\n{HEADER}#endif\n", r"cache\.h does not define struct cache in the tree's configuration"),
]


@pytest.mark.parametrize(("file", "text", "match"), UNSUITED)
def test_a_tree_that_the_change_does_not_suit_gets_no_patch(tmp_path: Path, file: str, text: str, match: str) -> None:
    with pytest.raises(VerificationFailed, match=match):
        patched(tmp_path, {f"src/{file}": text})


def saving(chosen: Candidate, *pairs: tuple[str, str]) -> Candidate:
    found = (JudgedPair(*pair, true_sharing=False, before=90, after=2) for pair in pairs)
    return replace(chosen, judgement=Judgement(100, 12, pairs=tuple(found), runs=1))


def test_a_tree_without_what_the_change_saves_gets_no_patch(tmp_path: Path) -> None:
    """A member may be there with an option only; what then moves saves nothing."""
    optional = HEADER.replace("\tlong uses;", "#ifdef THREADS\n\tlong uses;\n#endif")
    chosen = saving(proposal(), ("root", "lock"), ("uses", "uses"))
    with pytest.raises(VerificationFailed, match="has no member `uses` in cache, whose misses the change saves; conf"):
        patched(tmp_path / "without", {"src/cache.h": optional}, chosen)
    assert patched(tmp_path / "with", {"src/cache.h": optional}, chosen, cflags="-DTHREADS").exact
    assert not patched(tmp_path / "other", {"src/cache.h": optional}, saving(proposal(), ("root", "lock"))).exact


def test_noise_of_a_member_that_the_tree_has_not_refuses_no_patch(tmp_path: Path) -> None:
    optional = HEADER.replace("\tlong uses;", "#ifdef THREADS\n\tlong uses;\n#endif")
    pairs = (
        JudgedPair("root", "lock", true_sharing=False, before=5000, after=2),
        JudgedPair("uses", "uses", true_sharing=True, before=3.0, after=2.9),
    )
    chosen = replace(proposal(), judgement=Judgement(5003, 4.9, pairs=pairs, runs=1))
    assert not patched(tmp_path, {"src/cache.h": optional}, chosen).exact


def test_a_change_that_parts_nothing_in_the_tree_gets_no_patch(tmp_path: Path) -> None:
    wide = HEADER.replace("\tlong lock;", "\tlong far[9];\n\tlong lock;")
    with pytest.raises(VerificationFailed, match="separates no members of cache: they meet as rarely without"):
        patched(tmp_path, {"src/cache.h": wide})


def test_a_prediction_that_the_compiler_denies_gets_no_patch(tmp_path: Path) -> None:
    wrong = [("root", 0, 8), ("name", 8, 56), ("lock", 72, 8), ("uses", 80, 8)]
    with pytest.raises(VerificationFailed, match="another layout than predicted: `lock` is at byte 64 with 8 bytes"):
        patched(tmp_path, chosen=proposal(wrong, 88))


@pytest.mark.parametrize("unit", ['#include "part.h"\n#include "cache.h"\n', '#include "all.h"\n'])
def test_a_header_that_cannot_stand_alone_compiles_through_what_includes_it(tmp_path: Path, unit: str) -> None:
    files = {
        "src/cache.h": HEADER.replace('#include "part.h"\n', "typedef part_t own_t;\n"),
        "src/part.h": FILES["src/part.h"] + "typedef struct part part_t;\n",
        "src/cache.c": f"{unit}struct cache one;\n",
    }
    if "all.h" in unit:
        files["src/all.h"] = '#include "part.h"\n#include "cache.h"\n'
    assert patched(tmp_path, files).exact


def test_a_record_of_another_configuration_is_found_with_its_options(tmp_path: Path) -> None:
    assert patched(tmp_path, {"src/cache.h": f"#ifdef A\n{HEADER}#endif\n"}, cflags="-DA").exact


def test_an_option_that_is_not_used_is_told(tmp_path: Path) -> None:
    patch = patched(tmp_path, cflags="-O2 -nosuch")
    assert patch.notes == ("compiler options of --cflags left out, because no layout depends on them: -nosuch",)
    assert patch.verified.endswith("; cc -O2")


def test_bytes_that_are_no_text_survive(tmp_path: Path) -> None:
    tree = write_files(tmp_path, FILES)
    source = HEADER.encode().replace(b"read by", b"read\xff by").replace(b"\n", b"\r\n")
    (tree / "src" / "cache.h").write_bytes(source)
    content = file_text(written(Tree(tree), proposal(), finding()))
    assert b" \tstruct part *root;\t/* read\xff by everyone */\r\n" in content
    (tmp_path / "p").write_bytes(content)
    subprocess.run(["git", "apply", "p"], cwd=tree, check=True, capture_output=True, timeout=300)
    assert sorted((tree / "src" / "cache.h").read_bytes().split(b"\n")) == sorted(source.split(b"\n"))


def test_what_gets_no_draft(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="is not a directory; --tree needs the root"):
        draft(proposal(), Tree(tmp_path / "nowhere"))
    with pytest.raises(EditRefused, match=r"include/uapi/linux/cache\.h:5: cache is shared with user space"):
        draft(proposal(), Tree(write_files(tmp_path, {"include/uapi/linux/cache.h": HEADER})))


def test_a_draft_runs_nothing_but_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = write_files(tmp_path, FILES)
    (tmp_path / "git").symlink_to(shutil.which("git") or "git")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert draft(proposal(), Tree(tree)).diff.count(b"\n+\t") == 1


def test_a_header_of_the_folder_does_not_hide_one_of_the_system(tmp_path: Path) -> None:
    """HAProxy has an ``include/haproxy/time.h``, and its headers include the system's by way of others."""
    needing = HEADER.replace('#include "part.h"\n', '#include <time.h>\n#include "part.h"\nextern time_t now;\n')
    moved = layout("cache", BEFORE, 80, file="/elsewhere/src/cache.h", line=7, unit="/elsewhere/src/cache.c")
    chosen = replace(proposal(), before=moved)
    assert patched(tmp_path, {"src/cache.h": needing, "src/time.h": "#error not the system's\n"}, chosen).exact


@pytest.mark.parametrize("database", ["[]", "{}", "[{", '[{"directory": 1}]'])
def test_a_broken_database_is_named(tmp_path: Path, database: str) -> None:
    with pytest.raises(TreeError, match=r"compile_commands\.json .*--cflags"):
        patched(tmp_path, {"compile_commands.json": database})


def test_an_alignment_is_confirmed_with_what_it_makes_of_the_records_around(tmp_path: Path) -> None:
    patch = patched(tmp_path, chosen=aligned())
    assert "+\tlong lock __attribute__((aligned(64)));\t\t/* written by everyone */\n" in patch.diff
    assert (
        "The size goes from 80 to 192 bytes; what holds one grows with it: struct inode 560 -> 704 bytes, struct table "
        "96 -> 256 bytes. inodes, a, b and 1 more are created without this alignment, so objects there start at any "
        "multiple of 8 bytes as before. "
    ) in flowing(str(patch.message))
    assert "\n  root and lock: 7 of 8 -> 0 of 8\n" in str(patch.message)


def test_an_alignment_that_all_keep_leaves_one_phase(tmp_path: Path) -> None:
    message = str(patched(tmp_path, chosen=replace(aligned(), granules=(8, 64), loose=())).message)
    assert "\n  root and lock: 7 of 8 -> 0 of 1\n" in message
    assert "created without" not in message


@pytest.mark.parametrize(("first", "rest"), [(0, ""), (32, "rest of name, ")])
def test_the_cache_lines_of_a_variable_are_those_that_the_linker_chose(tmp_path: Path, first: int, rest: str) -> None:
    chosen = replace(proposal(), granules=(128, 128), firsts=(first, first))
    rows = (
        "  line 0 before: 0 root R 95%, 8 lock* RW 5%, 16 name",
        "          after: 0 root R, 8 name",
        "  line 1 before: rest of name and 1 unseen",
        f"          after: {rest}64 lock* RW and 1 unseen",
    )
    assert "\n".join(rows) in message_of(tmp_path, chosen, finding(), ProfileOrigin(members=(READ, LOCKED)))


def test_other_members_that_still_meet_are_neither_the_subject_nor_a_comment(tmp_path: Path) -> None:
    less = replace(proposal(), residuals=(Residual("root", "uses", 64, 0.5, 0.375),))
    message = message_of(tmp_path, less, finding(), ProfileOrigin(members=(READ, LOCKED)))
    assert message.startswith("cache: move lock in struct cache\n")
    assert "the cache line of" not in message
