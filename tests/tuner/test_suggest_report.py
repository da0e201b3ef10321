# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``linesmith suggest`` writes, from candidates made by hand: a whole answer, then the rows that vary."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from documented import obeys, page_of
from hand_made import finding, held, hot, scalar, struct, table, union
from proposals_by_hand import ELF, LINE, MEMORY, POOL, SPLIT, aligned, moved, proposed, replayed, suggested
from text_cases import files_in

from linesmith.analyzer.model import (
    NOT_JUDGED,
    Bounds,
    Candidate,
    HolderChange,
    JudgedLine,
    JudgedPair,
    MemoryUse,
    Move,
    MoveKind,
    Profile,
    SlabBasis,
    Strategy,
    StructuralAdvice,
)
from linesmith.analyzer.report import suggest
from linesmith.analyzer.report.candidate import Proposed, member_heat, short_change
from linesmith.analyzer.report.findings import ProfileSection
from linesmith.analyzer.report.hot import render_table
from linesmith.analyzer.report.pahole import excerpt
from linesmith.analyzer.report.prose import wrapped
from linesmith.analyzer.sharing.parts import users_of
from linesmith.analyzer.sharing.records import RecordContention, RecordPair
from linesmith.tuner.propose.tradeoff import IN_THE_SOURCE

DOCS = Path(__file__).resolve().parents[2] / "docs"
WHOLE = Path(__file__).with_name("sources") / "suggest.txt"
ANSWERS = files_in(WHOLE.with_name("answers.txt"))
NO_HELP = "moving members does not help."
HOPELESS = Proposed(finding(POOL, [hot("id", 120, 4, 9, 9)], rank=3), refusal=f"Line 3: {NO_HELP}")


def json_of(*lines: Proposed) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(suggest.render_json(suggested(*lines)))
    obeys(document, "suggest")
    return document


def text_of(*lines: Proposed, **fields: Any) -> str:
    return suggest.render_text(replace(suggested(*lines), **fields))


def test_the_page_names_every_field_of_a_candidate() -> None:
    page = page_of("suggest")
    assert [name for name in json_of(proposed(moved()))["candidates"][0] if not re.search(rf"\.{name}\b", page)] == []


CHANGES = [("move used behind id", "cjrcg"), ("make used a per-thread counter", None)]


def test_several_lines_as_json() -> None:
    other = replace(proposed(aligned()), finding=replace(LINE, rank=1))
    document = json_of(proposed(moved(), aligned(), advice=(SPLIT,)), other, HOPELESS)
    first, second, third = document["candidates"]
    assert [one["number"] for one in (first, second, third)] == [1, 2, 3]
    assert (first["recommended"], second["recommended"]) == ("The smallest change that leaves nothing.", "")
    unused: dict[str, Any] = {"partner": None, "align": None, "members": []}
    assert first["moves"] == [{"kind": "move", "member": "used", "after": "id", **unused}]
    assert first["churn"] == {"members": 1, "lines": 2, "atoms": 1}
    judgement = first["judgement"]
    assert (judgement["before"], judgement["after"], judgement["interval"]) == (100, 12, {"low": -0.95, "high": -0.6})
    (steps,) = first["steps"]
    access = {"cpu": "B", "function": "pool_full", "member": "limit", "writes": False, "line": 0}
    effect = {"states": {"A": "S", "B": "S"}, "what": "modified on A", "cycles": 456, "needless": True}
    assert steps["before"][1] == access | effect
    (record,) = document["records"]
    assert (record["rank"], record["record"], record["share"], record["lines"]) == (1, "pool", 3.0, [0, 1, 3])
    assert [(one["what"], one["candidate"]) for one in record["changes"]] == CHANGES
    saves = record["changes"][0]["saves"]
    assert (saves["before"], saves["after"], saves["whole"], saves["share"]) == (100, 12, 5000, 0.0176)
    (line,) = document["structure"]
    assert [(one["kind"], one["members"]) for one in line["advice"]] == [("count per CPU", ["used"])]


def test_the_first_change_is_explained_below_the_table() -> None:
    text = text_of(proposed(moved(), aligned(), advice=(SPLIT,)), given=("vmlinux", "my c2c.txt"))
    assert text == ANSWERS["a change"]


def test_the_change_that_saves_most_is_explained_and_one_without_a_figure_last() -> None:
    def line(rank: int, name: str, saved: float, *advice: StructuralAdvice) -> Proposed:
        judgement = replayed(100 - saved)
        found = replace(LINE, rank=rank, share=0.5 - rank / 100, objects=(replace(LINE.objects[0], type=name),))
        made = proposed(replace(moved(), judgement=judgement)) if saved else proposed(advice=advice)
        return replace(made, finding=found)

    text = text_of(line(0, "node", 0, SPLIT), line(1, "tree", 40), line(2, "list", 60))
    assert "\n3  list: move used behind id, candidate cjrcg\n" in text
    many = text_of(*(line(rank, f"tree_{rank}", 20) for rank in range(14)), line(14, "list", 60))
    assert ": move used behind id, candidate cjrcg\n" in many.partition("list")[2], (
        "which has a row, though it is a small part"
    )


def test_the_hottest_records_are_answered_whatever_the_colder_ones_save() -> None:
    def line(rank: int, made: Proposed) -> Proposed:
        objects = (replace(LINE.objects[0], type=f"type{rank}"),)
        return replace(made, finding=replace(LINE, rank=rank, share=0.08 - rank / 250, objects=objects))

    hopeless = Proposed(LINE, refusal=f"Line 0: {NO_HELP[:-1]}, because of this: that.")
    text = text_of(line(0, hopeless), *(line(rank, proposed(moved(), advice=(SPLIT,))) for rank in range(1, 18)))
    table = text.split("\n\n")[1]
    assert re.search(r"\n 1 +type0 +8\.0% +nothing: of this\n", table), "in one line, for there are many"
    assert [f" type{rank} " in table for rank in range(18)] == [True] * 14 + [False] * 4
    assert "\n" + " " * 4 + "the rest" in table


def test_of_a_record_that_is_known_the_reason_is_not_a_line_where_it_is_not() -> None:
    unknown = replace(HOPELESS, finding=replace(LINE, rank=3, objects=()), refusal="Line 3: no object is known.")
    sure = Proposed(replace(LINE, rank=4), refusal=f"Line 4: {NO_HELP[:-1]}, because of this.")
    record = RecordContention("pool", (), 2, 9.0, 0.9, Bounds(), findings=(unknown.finding, sure.finding))
    assert re.search(r"  pool +90\.0%  nothing: of this\n", text_of(unknown, sure, records=(record,)))


def test_what_remains_is_what_the_replay_leaves_not_a_limit_of_the_profile() -> None:
    shared = "true sharing on used (57% of the line), which no layout removes"
    finding = replace(LINE, triage=replace(LINE.triage, sentence=f"{LINE.triage.sentence}; {shared}"))
    text = text_of(replace(proposed(replace(moved(), judgement=replayed(40))), finding=finding))
    left = (
        "remains 40 of the record's 100 contended loads; no order removes those of them that are true sharing on used"
    )
    assert left in " ".join(text.split())


def test_misses_after_stores_to_the_member_itself_are_named_too() -> None:
    pairs = JudgedPair("used", "used", true_sharing=True, before=70, after=20), *replayed(40).pairs
    text = text_of(proposed(replace(moved(), judgement=replace(replayed(40), pairs=pairs))))
    assert "used misses after stores to itself (stores by pool_take" in text


KNOWN = RecordContention(
    "pool",
    ("heap",),
    1,
    100.0,
    1.0,
    Bounds(0.0, 0.9),
    pairs=(
        RecordPair("limit", "used", "", Bounds(90, 90), {"pool_full": 90}, {"pool_take": 80}),
        RecordPair("id", "name of the pool at 0x40", "", Bounds(3, 3), {"pool_id": 3}, {"memset": 7, "pool_name": 1}),
    ),
    findings=(LINE,),
    callers={"limit": {"pool_full": {"pool_open": 60}}, "used": {"pool_take": {"pool_alloc": 40}}},
)
LOSSES = tuple(
    JudgedPair(victim, writer, true_sharing=False, before=old, after=new)
    for victim, writer, old, new in (("id", "name", 3, 13), ("id", "used", 1, 4), ("owner", "limit", 1, 3))
)


LOSING = replace(moved(), judgement=replace(replayed(24), pairs=(*replayed(12).pairs, *LOSSES)))


def test_gains_losses_and_the_net_of_all_others_add_up_to_what_is_saved() -> None:
    text = " ".join(text_of(proposed(LOSING), records=(KNOWN,)).split())
    assert "(80% interval 1.2% to 1.9%): 76 of the record's 100" in text
    assert "others all misses on the record that are not listed, net: 1 fewer " in text
    listed = re.findall(r"(\d+) -> (\d+)", text.partition(" why ")[2])
    assert sum(int(old) - int(new) for old, new in listed) + 1 == 76


def test_who_stores_to_a_member_is_named_once_with_who_called_it() -> None:
    """Though the store that was recorded was to that member of the object next to it."""
    text = " ".join(text_of(proposed(LOSING), records=(KNOWN,)).split())
    assert text.count("stores by pool_take, called from pool_alloc") == text.count("pool_take") == 1
    assert "loads by pool_full, called from pool_open" in text
    assert "id misses after stores to name (stores by memset, pool_name, callers not recorded): 3 -> 13" in text
    assert "id misses after stores to used: 1 -> 4, and 1 more; the saving is net of these" in text


def test_that_callers_were_not_recorded_is_said_once_on_a_screen() -> None:
    """Of a recording that has callers of some functions only."""
    for callers in ({"other": {"pool_full": {"pool_open": 60}}}, {}):
        text = " ".join(text_of(proposed(LOSING), records=(replace(KNOWN, callers=callers),)).split())
        assert text.count("stores by ") >= 2
        assert text.count("callers not recorded") == 1


def test_where_there_is_little_room_one_pair_says_why_and_the_net_is_of_the_others() -> None:
    text = suggest.render_text(replace(suggested(proposed(LOSING)), given=("vmlinux", "c2c.txt")), 50)
    assert len(text.splitlines()) <= 60
    words = " ".join(text.split())
    assert words.count("misses after stores to used (stores by pool_take") == 1
    assert "others all misses on the record that are not listed, net: 1 fewer " in words


def test_on_a_narrow_screen_the_drawing_goes_before_what_the_change_saves_and_costs() -> None:
    text = suggest.render_text(replace(suggested(proposed(LOSING)), given=("vmlinux", "c2c.txt")), 40)
    assert [label for label in ("lines", "saves", "worse", "others", "size", "checked") if f"\n  {label} " in text] == [
        "saves",
        "worse",
        "others",
        "size",
        "checked",
    ]


def test_what_an_alignment_asks_of_the_allocator_is_on_the_screen() -> None:
    where = "objects are allocated at multiples of 64 bytes: malloc() need not."
    candidate = replace(moved(), notes=(f"Holds only where {where}", "Only the layout was checked."))
    assert f"  needs     {where}\n" in text_of(proposed(candidate))


def test_what_was_not_checked_is_named_with_the_command_that_checks_it() -> None:
    noted = replace(moved(), notes=(f"Only the layout was checked: {IN_THE_SOURCE}",))
    assert "  unchecked #if blocks, " in text_of(proposed(noted))


def test_who_must_store_is_named_though_no_store_was_sampled() -> None:
    used = replace(hot("used", 24, 8, reads=5), write_inferred="pool_take writes it")
    lock = replace(hot("limit", 16, 8, reads=9), lock=True, write_inferred="taking or releasing a lock writes it")
    assert users_of("used", [used, lock], writing=True)[0] == "pool_take"
    # Whoever waits for a lock may only look at it.
    assert users_of("limit", [used, lock], writing=True) == ()
    assert users_of("limit", [used, lock], writing=False) != ()


def test_a_candidate_in_full() -> None:
    assert suggest.render_candidate(suggested(proposed(moved(), aligned())), 1) == WHOLE.read_text()


def after_head(text: str) -> str:
    return text.partition("\n\n")[2]


def test_of_one_record_without_a_change_it_is_told_what_would_be_possible() -> None:
    noise = "Nothing is recommended: 12 samples less would be lost in the noise (19)."
    line = proposed(replace(moved(), recommended=""), declined=noise)
    assert json_of(line)["records"][0]["reason"] == "the best candidate saves 88% of its misses, too little"
    assert after_head(text_of(line, narrowed_to="pool")) == ANSWERS["one record without a change"]


def test_what_can_be_done_instead_follows_the_reason() -> None:
    text = text_of(replace(HOPELESS, refusal="Line 3: moving does not help, because it is a lock. Instead: shard it."))
    row = "1  pool       100.0%  nothing: it is a lock\n"
    answer = "Nothing to change in pool, with 100.0% of the contended loads: it is a lock.\n"
    assert f"{row}\n{answer}  instead   shard it.\n" in text
    assert text.endswith("  send      nothing: there is no patch, and size and memory stay as they are\n")


def test_a_change_of_the_structure_is_explained_where_no_layout_helps() -> None:
    text = text_of(replace(proposed(advice=(SPLIT,)), refusal=f"Line 0: {NO_HELP}"), given=("vmlinux", "c2c.txt"))
    assert after_head(after_head(text)) == ANSWERS["a change of the structure"]


def test_who_waits_next_to_a_member_is_named_with_who_waits_on_it() -> None:
    waited = Bounds(4, 4), Bounds(396, 396)
    pairs = tuple(RecordPair(one, "used", "", of, {}, {}) for one, of in zip(("used", "id"), waited, strict=True))
    known = RecordContention("pool", ("heap",), 1, 400.0, 0.009, Bounds(0.0, 0.0), pairs=pairs)
    line = replace(proposed(advice=(SPLIT,)), refusal=f"Line 0: {NO_HELP}")
    text = " ".join(text_of(line, records=(known,)).split())
    assert "at most the 0.01% that wait on used and the 0.89% that wait on id next to it" in text
    assert "who pool_take (80 accesses): writes used callers not recorded saves" in text


def test_the_head_says_which_report_it_is_of_and_the_table_which_command_lists_the_rest() -> None:
    hot = ("linesmith", "hot", "vmlinux", "two reports.txt", "--section", "2", "--full")
    which, build = "report 2 of 2, --section 1 shows report 1", "Whether the report is of this build is not known."
    small = replace(LINE, rank=7, share=0.004, objects=(replace(LINE.objects[0], type="leaf"),))
    findings = replace(LINE, share=0.5, rank=3), small
    text = text_of(HOPELESS, findings=findings, records=ELSEWHERE, hot=hot, which=which, build=build)
    head = " ".join(text.partition("\n\n")[0].split())
    assert head.startswith(f"c2c.txt ({which}) on vmlinux ")
    assert head.endswith(f"reconstructed from the samples. {build}")
    assert "\nall records: linesmith hot vmlinux 'two reports.txt' --section 2 --full\n\nNothing" in text
    others = replace(ELSEWHERE[1], share=0.6)
    assert "all records:" not in text_of(HOPELESS, findings=findings[:1], records=(others,), hot=hot), "it has no more"


SHARES = (("", 0.3, ""), ("pool", 0.5, ""), ("node", 0.15, ""), ("leaf", 0.005, ""), ("clock", 0.02, "the emulator"))
ELSEWHERE = tuple(
    RecordContention(name, ("heap",), 2, 10.0, share, Bounds(0.0, 0.0), apart=apart) for name, share, apart in SHARES
)


def test_what_is_not_attributed_has_the_words_of_hot() -> None:
    memory = RecordContention("", ("pages free page",), 5, 10.0, 0.3, Bounds())
    nothing = Proposed(finding(POOL, [hot("id", 120, 4, 9, 9)], rank=3), refusal="Line 3: no object is known.")
    records = (memory, replace(memory, places=("stack",), lines=2, share=0.1, findings=(nothing.finding,)))
    text = text_of(nothing, findings=(nothing.finding,), records=records)
    assert re.search(r"not attributed +40\.0% +7 lines: free pages 30\.0%, stack 10\.0%\n", text)
    profile = ProfileSection(Profile("c2c.txt", "", "hitm", ()), 1, 1)
    assert "not attributed to a record (7 lines): free pages 30.0%, stack 10.0%\n" in render_table(
        records, ELF, profile
    )


def test_small_records_and_unknown_lines_are_one_row() -> None:
    small = replace(LINE, rank=7, share=0.004, objects=(replace(LINE.objects[0], type="leaf"),))
    text = text_of(HOPELESS, findings=(replace(LINE, share=0.5, rank=3), small), records=ELSEWHERE)
    assert after_head(text) == ANSWERS["small records and unknown lines"]


LARGER = replace(MEMORY, stride=192, pages_per_1000=48, bytes_per_100000=19660800)
OTHER = replace(MEMORY, cache="kmalloc-128", basis=SlabBasis.ASSUMED)
CACHES = [replace(MEMORY, cache=f"cache{number}") for number in range(5)]
GROWN = [replace(one, pages_per_1000=32 + 4 * number) for number, one in enumerate(CACHES)]
HOLDERS = (
    HolderChange("struct node", 128, 192, (MEMORY, replace(MEMORY, objects_per_slab=21))),
    HolderChange("struct link", 128, 192, (MEMORY, replace(MEMORY, objects_per_slab=42, order=1))),
    *(HolderChange("struct list", 1024, 1088), HolderChange("struct tree", 256, 320)),
)


def costing(before: tuple[MemoryUse, ...], after: tuple[MemoryUse, ...]) -> Candidate:
    return replace(aligned(), memory=(before, after))


NOT_REPLAYED = replace(moved(), judgement=replace(NOT_JUDGED, refusal="Nothing was replayed: no bytes."))


@pytest.mark.parametrize(
    ("candidate", "rows"),
    [
        pytest.param(aligned(), "size 128 -> 192 bytes, 2 -> 3 lines", id="a larger record"),
        pytest.param(NOT_REPLAYED, "saves Nothing was replayed: no bytes.", id="what is not judged"),
        pytest.param(
            replace(moved(), judgement=replayed(12, runs=1)),
            "saves 1.8% of the misses of the profile (80% interval 1.2% to 1.9%): 88 of the record's 100 and of all "
            "5,000",
            id="a recorded run",
        ),
        pytest.param(
            costing((MEMORY, OTHER), (LARGER, OTHER)),
            "memory pool_cache: 32 -> 48 pages for 1,000 objects, 12.2 -> 18.8 MiB for 100,000 "
            "(computed from the cache's flags) unchanged in slabs of kmalloc-128 (assumed)",
            id="memory that changes",
        ),
        pytest.param(costing(tuple(CACHES), tuple(GROWN)), "and 2 more caches", id="many caches"),
        pytest.param(
            replace(aligned(), holders=HOLDERS),
            "grows too struct node 128 -> 192 bytes, 32 in 1 page -> 21 in 1 page of pool_cache "
            "struct link 128 -> 192 bytes, 32 in 1 page -> 42 in 2 pages of pool_cache and 2 more records",
            id="records around it",
        ),
        pytest.param(
            aligned(),
            "line 0 before: 16 limit R 92%, 24 used* W and 4 unseen after: 16 limit R and 2 unseen",
            id="cache lines of an object that begins with a line",
        ),
        pytest.param(
            replace(moved(), judgement=replace(replayed(12), lines=(JudgedLine(("limit", "owner"), 3, 9),))),
            "worse misses on the line of limit, owner: 3 -> 9; the saving is net of it",
            id="a line gets more misses",
        ),
    ],
)
def test_rows_of_an_answer_that_vary(candidate: Candidate, rows: str) -> None:
    text = suggest.render_candidate(suggested(proposed(candidate), HOPELESS), 1)
    assert rows in " ".join(text.split())


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("anon_vma_interval_tree_remove", ["anon_vma_interval_", "tree_remove"]),
        ("std::map<int, std::vector<session *>>::find", ["std::map<…>::find"]),
        ("cmpxchg_double_slab.constprop.0.isra.0", ["cmpxchg_double_", "slab.constprop.0.", "isra.0"]),
        ("a < b and c -> d", ["a < b and c -> d"]),
    ],
)
def test_long_names_break_between_their_words(name: str, lines: list[str]) -> None:
    assert wrapped(name, 20) == lines


def test_a_candidate_in_full_has_no_recommendation_and_no_other_lines() -> None:
    text = suggest.render_candidate(suggested(proposed(moved(), aligned()), HOPELESS), 2)
    assert "\ncandidate jssbg: align used to 64 bytes\n" in text
    assert [word for word in ("recommended:", "Line 3", "holders") if word in text] == []


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("used limit", "move used behind id; move limit behind id"),
        ("used limit owner", "packed anew: used, limit, owner"),
        ("used limit owner name last first", "packed anew: used, limit, owner, name, last, first"),
        (" ".join(f"m{one}" for one in range(10)), "packed anew: m0, m1, m2, m3, m4, m5, m6, m7 and 2 more"),
    ],
)
def test_a_candidate_with_many_steps_is_told_by_how_it_was_found(names: str, said: str) -> None:
    steps = tuple(Move(MoveKind.MOVE, name, "id") for name in names.split())
    assert short_change(replace(moved(), moves=steps, strategy=Strategy.PACKED)) == said


def rows_of(*lines: Proposed) -> list[str]:
    """The table of candidates without its title."""
    text = suggest.render_candidate(suggested(*lines), 1)
    return text[text.index("\ncandidates") :].splitlines()[2:]


def test_candidates_side_by_side() -> None:
    line = proposed(replace(aligned(), recommended="It saves most."), replace(moved(), recommended=""))
    assert rows_of(line) == [
        "           change                  saves (80% interval)  size  pages/1,000  moved",
        "  * jssbg  align used to 64 bytes     1.9% (1.2 to 1.9)   192     32 -> 48      1",
        "    cjrcg  move used behind id        1.8% (1.2 to 1.9)   128           32      1",
    ]


def test_columns_that_say_nothing_are_left_out_and_a_table_keeps_to_the_width() -> None:
    unknown = replace(costing((), ()), judgement=NOT_JUDGED)
    two = proposed(unknown, unknown)
    assert rows_of(two)[0].split() == ["change", "size", "moved"]
    long = tuple(Move(MoveKind.MOVE, "a_member_with_a_name_that_is_rather_long", name) for name in ("owner", "name"))
    assert max(map(len, rows_of(proposed(replace(moved(), moves=long), aligned())))) <= 100


def test_heat_is_that_of_all_lines_of_the_record_with_the_most_contended_first() -> None:
    other = replace(finding(POOL, [hot("name", 0, 8, reads=300), hot("id", 120, 4, writes=7)]), rank=LINE.rank + 1)
    assert list(member_heat(LINE, [LINE, other]).items()) == [
        *(("name", "300 contended"), ("limit", "100 contended"), ("used", "80 stores"), ("id", "7 stores")),
    ]
    inferred = replace(hot("used", 24, 8, reads=5), write_inferred="taking or releasing a lock writes it")
    assert member_heat(finding(POOL, [inferred]), ())["used"] == "5 contended, written", "though no store was sampled"


def test_an_excerpt_shows_an_anonymous_union_by_a_name_inside_it_and_leaves_lines_out() -> None:
    either = union("", scalar("x"), scalar("y"))
    layout = struct("s", scalar("a"), scalar("b"), held("", either), scalar("c"), scalar("d"))
    rows = list(excerpt(layout, table(layout, either), frozenset({"y"}), frozenset({"y"}), {"y": "7 stores"}))
    assert [" ".join(row.split()) for row in rows[1:8]] == [
        "...",
        "type b; /* 8 8 */",
        "> union {",
        "> type x; /* 16 8 */",
        "> type y; /* 16 8 */ /* 7 stores */",
        "> }; /* 16 8 */",
        "type c; /* 24 8 */",
    ]
    sizes = {"a": 8, "b": 64, "c": 128, "d": 128, "e": 64, "f": 8}
    layout = struct("s", *(scalar(name, size) for name, size in sizes.items()))
    rows = list(excerpt(layout, table(layout), frozenset({"a", "f"}), frozenset()))
    assert [row.split()[1][0] for row in rows if "type" in row] == ["a", "b", "e", "f"]
    assert rows[3:5] == ["          ...", "        /* --- cacheline 5 boundary (320 bytes) was 8 bytes ago --- */"]
