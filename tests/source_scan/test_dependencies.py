# SPDX-License-Identifier: GPL-2.0-or-later
"""Code that depends on the order of members, and code that uses them: the cases of ``cases``, one way in each.

A case is the body of a function, or a whole unit if it declares ``struct rec``; a line with ``|`` in front stands
outside of the function. What the program says of it is in the lines that begin with ``@``: in ``dependencies.txt`` the
kind, the members, what must hold and ``(free)`` where the order may change all the same; in ``uses.txt`` the kind of
use and the member.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from patch_cases import write_files
from source_scan.conftest import Scanned
from source_scan.scanner import Unit, run
from text_cases import TextCase, read_cases, text_cases

CASES = Path(__file__).with_name("cases")
DEPENDENCIES, USES = CASES / "dependencies.txt", CASES / "uses.txt"
# The members of `rec` begin at 0, 8, 12, 16, 24, 32 and 40 bytes.
SOURCES = Path(__file__).with_name("sources")
DEPENDING = (SOURCES / "depending.h").read_text()
USING = (SOURCES / "using.h").read_text()


def source_of(case: TextCase, before: str, function: str) -> str:
    text = "\n".join(case.lines)
    if "struct rec {" in text:
        return f"{text}\n"
    outside = "".join(f"{line[1:]}\n" for line in case.lines if line.startswith("|"))
    body = "\n".join(line for line in case.lines if not line.startswith("|"))
    return f"{before}{outside}{function}\n{{\n{body}\n\treturn 0;\n}}\n"


def scanned_cases(
    executable: Path, folder: Path, file: Path, records: Sequence[str], before: str, function: str
) -> dict[str, Unit]:
    """What one run of the program says of each case of a file."""
    cases = list(read_cases(file))
    commands = []
    for number, case in enumerate(cases):
        (folder / f"{number}.c").write_text(source_of(case, before, function))
        flags = (case.words("flags") or "").split()
        arguments = ["gcc", "-O2", *flags, "-c", "x.c"]
        commands.append({"directory": str(folder), "file": f"{number}.c", "arguments": arguments})
    units = run(executable, records, commands)
    assert [unit["complaint"] for unit in units] == [""] * len(cases)
    return {case.title: unit for case, unit in zip(cases, units, strict=True)}


def expected(case: TextCase) -> list[str]:
    return [" ".join(words) for words in case.asked if words[0] != "flags"]


@pytest.fixture(scope="module")
def depending(executable: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Unit]:
    function = "long f(struct rec *r, struct outer *o, struct node *n)"
    folder = tmp_path_factory.mktemp("depending")
    return scanned_cases(executable, folder, DEPENDENCIES, ["rec", "outer"], DEPENDING, function)


@pytest.fixture(scope="module")
def using(executable: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Unit]:
    function = "int f(struct rec *r, int i)"
    return scanned_cases(executable, tmp_path_factory.mktemp("using"), USES, ["rec", "count_t"], USING, function)


@text_cases(DEPENDENCIES)
def test_what_depends_on_the_order(depending: dict[str, Unit], case: TextCase) -> None:
    assert [dependency_text(one) for one in depending[case.title]["dependencies"]] == expected(case)


def dependency_text(entry: Unit) -> str:
    limit = f" {entry['relation']} {entry['bytes']}" if entry["relation"] else ""
    record = f" of {entry['record']}" if entry["record"] != "rec" else ""
    count = f" in {entry['count']} rows" if entry["count"] > 1 else ""
    macro = f" by {entry['macro']}" if entry["macro"] else ""
    free = "" if entry["binds"] else " (free)"
    return f"{entry['kind']}: {' '.join(entry['members']) or 'all'}{limit}{record}{count}{macro}{free}"


@text_cases(USES)
def test_what_is_done_with_a_member(using: dict[str, Unit], case: TextCase) -> None:
    uses = using[case.title]["uses"]
    assert [use_text(one) for one in uses] == expected(case)


def use_text(entry: Unit) -> str:
    record = f" of {entry['record']}" if entry["record"] != "rec" else ""
    macro = f" by {entry['macro']}" if entry["macro"] else ""
    return f"{entry['kind']} {entry['member']}{record}{macro}{'' if entry['function'] else ' (no function)'}"


def test_what_a_macro_gives_is_told_where_it_is_used(scanned: Scanned) -> None:
    unit = scanned("struct rec { int a, b; };\n#define INIT(x) \\\n  { x, 2 }\nstruct rec v = INIT(1);\n")
    (entry,) = unit["dependencies"]
    assert (entry["line"], entry["text"], entry["macro"]) == (4, "struct rec v = INIT(1);", "INIT")
    assert entry["written"].endswith("case.c:3")
    text = "struct rec { int a; };\n#define A(x) \\\n ((x)->a)\nint f(struct rec *r) {\n return A(r); }\n"
    (use,) = scanned(text)["uses"]
    assert (use["line"], use["macro"], use["written"].rsplit("/")[-1]) == (5, "A", "case.c:3")


def test_a_name_in_an_argument_of_a_macro_stands_where_it_is_written(scanned: Scanned) -> None:
    text = "#define READ_ONCE(x) (*(volatile int *)&(x))\nstruct rec { int u; };\n"
    (use,) = scanned(f"{text}int f(struct rec *r)\n{{ return READ_ONCE(\n\tr->u); }}\n")["uses"]
    assert (use["line"], use["kind"]) == (5, "read")


def test_two_records_of_one_name_are_told_apart(scanned: Scanned) -> None:
    text = "void f(void) { struct rec { int a; } x; x.a = 1; }\nvoid g(void) { struct rec { int a; } x; x.a = 1; }\n"
    unit = scanned(text)
    assert [record["line"] for record in unit["records"]] == [1, 2]
    assert [(use["line"], use["declaration"]) for use in unit["uses"]] == [(1, 0), (2, 1)]


# Where records and the atoms of their members stand: the cases of cases/records.txt

RECORDS = Path(__file__).with_name("cases") / "records.txt"


def text_of(case: TextCase) -> str:
    return "".join(f"{line}\n" for line in case.lines if not line.startswith("="))


@pytest.fixture(scope="module")
def records(executable: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Unit]]:
    """What one run of the program says of the record of each case."""
    folder, cases = tmp_path_factory.mktemp("records"), list(read_cases(RECORDS))
    for number, case in enumerate(cases):
        (folder / f"{number}.c").write_text(text_of(case))
    commands = [{"directory": str(folder), "file": f"{at}.c", "arguments": ["gcc"]} for at in range(len(cases))]
    units = run(executable, ["rec"], commands)
    assert [unit["complaint"] for unit in units] == [""] * len(cases)
    return {case.title: unit["records"] for case, unit in zip(cases, units, strict=True)}


@text_cases(RECORDS)
def test_a_record_and_its_members(records: dict[str, list[Unit]], case: TextCase) -> None:
    (record,) = records[case.title]
    assert list(described(record, text_of(case))) == [line for line in case.lines if line.startswith("=")]


def described(record: Unit, text: str) -> Iterator[str]:
    words = [record["kind"], "in line", record["line"], "of", record["bytes"], "bytes"]
    words += [word for word in ("packed", "randomized") if record[word]]
    lines, body = text[record["start"] : record["end"]].splitlines(), text[slice(*record["body"])]
    assert (body[0], body[-1]) == ("{", "}")
    words += ["from", repr(lines[0]), "to", repr(lines[-1])]
    yield f"= {' '.join(map(str, words))}"
    if record["comment"]:
        yield f"= comment {text[slice(*record['comment'])]!r}"
    for member in record["members"]:
        atom, declaration = text[member["start"] : member["end"]], text[slice(*member["declaration"])]
        words = [member["name"] or "-", f"{member['offset_bits']}+{member['bits']}"]
        words += [f"inside {member['inside']}"] if member["inside"] >= 0 else []
        words += [f"by {member['macro']}"] if member["macro"] else []
        words += [f"with {' '.join(one or '-' for one in member['others'])}"] if member["others"] else []
        words += [repr(atom)] + ([f"declared {declaration!r}"] if declaration != atom.strip() else [])
        words += [f"described {text[slice(*place)]!r}" for place in member["docs"]]
        yield f"= {' '.join(words)}"


# Units, their commands, and those that cannot be parsed

BODY = "struct rec { int a; };\nint f(struct rec *r) { return r->a; }\n"
Parsed = Callable[..., list[Unit]]


@pytest.fixture
def parsed(executable: Path, tmp_path: Path) -> Parsed:
    """What the program says of the C files among those written, in a folder of their own, or of the ``units``."""

    def parse(
        files: dict[str, str],
        arguments: Sequence[str] = ("cc",),
        units: Sequence[str] = (),
        options: Sequence[str] = (),
    ) -> list[Unit]:
        write_files(tmp_path, files)
        names = units or [name for name in files if name.endswith(".c")]
        commands = [{"directory": str(tmp_path), "file": name, "arguments": list(arguments)} for name in names]
        return run(executable, ["rec"], commands, options)

    return parse


def test_each_command_gives_a_line_in_order(executable: Path, tmp_path: Path) -> None:
    write_files(tmp_path, {"one.c": BODY, "two.c": BODY})
    commands = [
        {"directory": str(tmp_path), "file": "one.c", "command": "ccache gcc -DX='\"a b\"' -c one.c"},
        {"directory": "/", "file": str(tmp_path / "two.c"), "arguments": ["cc", "two.c"]},
    ]
    units = run(executable, ["rec"], commands)
    assert [unit["unit"] for unit in units] == [str(tmp_path / "one.c"), str(tmp_path / "two.c")]
    assert all(len(unit["uses"]) == 1 for unit in units)


def test_what_only_gcc_knows_is_dropped_and_nothing_is_written(parsed: Parsed, tmp_path: Path) -> None:
    flags = "-Wp,-MMD,case.d -MD -fconserve-stack -mpreferred-stack-boundary=3 -fplugin=none.so -DGIVEN"
    (unit,) = parsed({"case.c": f"#ifdef GIVEN\n{BODY}#endif\n"}, ["gcc", *flags.split(), "-c", "x.c"])
    assert (unit["complaint"], len(unit["records"])) == ("", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["case.c"]


def test_headers_that_were_read_are_named(parsed: Parsed, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (unit,) = parsed({"rec.h": "struct rec { int a; };\n", "case.c": '#include "sub/../rec.h"\n'})
    assert {str(tmp_path / "case.c"), str(tmp_path / "rec.h")} <= set(unit["includes"])
    assert unit["records"][0]["file"] == str(tmp_path / "rec.h")


def test_a_unit_with_errors_tells_the_first_and_what_it_can(parsed: Parsed) -> None:
    more = "int g(void) { return nothing; }\nint h(struct rec *r) { return r->a; }\n"
    (unit,) = parsed({"case.c": BODY + more})
    assert (unit["errors"], unit["fatal"], len(unit["uses"])) == (1, False, 2)
    assert unit["complaint"].endswith("case.c:3: use of undeclared identifier 'nothing'")


def test_records_with_members_in_error_have_no_layout(parsed: Parsed) -> None:
    (unit,) = parsed({"case.c": "struct rec { struct absent x; int a; };\nint f(struct rec *r) { return r->a; }\n"})
    assert (unit["records"][0]["bytes"], unit["errors"]) == (None, 1)


def test_a_unit_that_is_not_there_costs_itself_only(parsed: Parsed) -> None:
    bad, good = parsed({"good.c": BODY}, units=["bad.c", "good.c"])
    assert bad["fatal"]
    assert "bad.c" in bad["complaint"]
    assert len(good["uses"]) == 1


def test_a_missing_header_is_named(parsed: Parsed, tmp_path: Path) -> None:
    (unit,) = parsed({"case.c": '#include "absent.h"\n'})
    assert (unit["fatal"], unit["complaint"]) == (True, f"{tmp_path}/case.c:1: 'absent.h' file not found")


def test_uses_can_be_left_out(parsed: Parsed) -> None:
    (unit,) = parsed({"case.c": BODY}, options=["--no-uses"])
    assert (unit["uses"], len(unit["records"])) == ([], 1)


@pytest.mark.parametrize(
    ("compiler", "size"),
    [("gcc -m32", 8), ("ccache /usr/bin/aarch64-linux-gnu-gcc-12", 16), ("arm-linux-gnueabi-gcc", 8)],
)
def test_the_compilers_name_decides_the_machine(parsed: Parsed, compiler: str, size: int) -> None:
    (unit,) = parsed({"case.c": "struct rec { long a; void *b; };\n"}, [*compiler.split(), "-c", "case.c"])
    assert unit["records"][0]["bytes"] == size


def test_headers_of_the_compiler_and_the_system_are_found(parsed: Parsed) -> None:
    included = "".join(f"#include <{name}.h>\n" for name in ("stdarg", "stddef", "stdio", "sched"))
    (unit,) = parsed({"case.c": included + BODY}, ["gcc", "-O2", "-c", "x.c"])
    assert (unit["complaint"], len(unit["uses"])) == ("", 1)


def test_a_header_says_the_same_in_every_unit(parsed: Parsed) -> None:
    header = (
        "struct rec { int a; };\n"
        "static inline int none(int i) { return i; }\n"
        "static inline int some(int i) {\n#ifdef MORE\n\treturn ((struct rec *)0)->a;\n#endif\n\treturn i; }\n"
        "static inline int get(struct rec *r) { return none(r->a); }\n"
    )
    files = {"rec.h": header, "one.c": '#include "rec.h"\n', "two.c": '#define MORE\n#include "rec.h"\n'}
    units = parsed(files, units=["one.c", "one.c", "two.c"])
    assert [[use["line"] for use in unit["uses"]] for unit in units] == [[8], [8], [5, 8]]


def test_a_malformed_command_ends_the_program(executable: Path) -> None:
    arguments = [str(executable), "--record", "rec"]
    done = subprocess.run(arguments, input='{"file": "x.c"}\n', capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'linesmith-source-scan: a command is malformed: no "directory" or no "file"\n'
