# SPDX-License-Identifier: GPL-2.0-or-later
"""Units, their commands, and those that cannot be parsed."""

from __future__ import annotations

import subprocess
from pathlib import Path

from source_scan.scanner import run, scan

BODY = "struct rec { int a; };\nint f(struct rec *r) { return r->a; }\n"


def test_each_command_gives_a_line_in_order(executable: Path, tmp_path: Path) -> None:
    for name in ("one.c", "two.c"):
        (tmp_path / name).write_text(BODY)
    commands = [
        {"directory": str(tmp_path), "file": "one.c", "command": "ccache gcc -DX='\"a b\"' -c one.c"},
        {"directory": "/", "file": str(tmp_path / "two.c"), "arguments": ["cc", "two.c"]},
    ]
    units = run(executable, ["rec"], commands)
    assert [unit["unit"] for unit in units] == [str(tmp_path / "one.c"), str(tmp_path / "two.c")]
    assert all(len(unit["uses"]) == 1 for unit in units)


def test_what_only_gcc_knows_is_dropped_and_nothing_is_written(executable: Path, tmp_path: Path) -> None:
    source = tmp_path / "case.c"
    source.write_text("#ifdef GIVEN\n" + BODY + "#endif\n")
    flags = [
        "-Wp,-MMD,case.d",
        "-MD",
        "-fconserve-stack",
        "-mpreferred-stack-boundary=3",
        "-fplugin=none.so",
        "-DGIVEN",
    ]
    assert len(scan(executable, source, flags=flags)["records"]) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["case.c"]


def test_headers_that_were_read_are_named(executable: Path, tmp_path: Path) -> None:
    (tmp_path / "rec.h").write_text("struct rec { int a; };\n")
    source = tmp_path / "case.c"
    source.write_text('#include "sub/../rec.h"\n')
    (tmp_path / "sub").mkdir()
    unit = scan(executable, source)
    assert {str(source), str(tmp_path / "rec.h")} <= set(unit["includes"])
    assert unit["records"][0]["file"] == str(tmp_path / "rec.h")


def test_a_unit_with_errors_tells_the_first_and_what_it_can(executable: Path, tmp_path: Path) -> None:
    (tmp_path / "case.c").write_text(BODY + "int g(void) { return nothing; }\nint h(struct rec *r) { return r->a; }\n")
    (unit,) = run(executable, ["rec"], [{"directory": str(tmp_path), "file": "case.c", "arguments": ["cc"]}])
    assert (unit["errors"], unit["fatal"], len(unit["uses"])) == (1, False, 2)
    assert unit["complaint"].endswith("case.c:3: use of undeclared identifier 'nothing'")


def test_records_with_members_in_error_have_no_layout(executable: Path, tmp_path: Path) -> None:
    (tmp_path / "case.c").write_text("struct rec { struct absent x; int a; };\nint f(struct rec *r) { return r->a; }\n")
    (unit,) = run(executable, ["rec"], [{"directory": str(tmp_path), "file": "case.c", "arguments": ["cc"]}])
    assert (unit["records"][0]["bytes"], unit["errors"]) == (None, 1)


def test_a_unit_that_is_not_there_costs_itself_only(executable: Path, tmp_path: Path) -> None:
    (tmp_path / "good.c").write_text(BODY)
    commands = [{"directory": str(tmp_path), "file": name, "arguments": ["cc"]} for name in ("bad.c", "good.c")]
    bad, good = run(executable, ["rec"], commands)
    assert bad["fatal"]
    assert "bad.c" in bad["complaint"]
    assert len(good["uses"]) == 1


def test_a_missing_header_is_named(executable: Path, tmp_path: Path) -> None:
    (tmp_path / "case.c").write_text('#include "absent.h"\n')
    (unit,) = run(executable, ["rec"], [{"directory": str(tmp_path), "file": "case.c", "arguments": ["cc"]}])
    assert (unit["fatal"], unit["complaint"]) == (True, f"{tmp_path}/case.c:1: 'absent.h' file not found")


def test_uses_can_be_left_out(executable: Path, tmp_path: Path) -> None:
    (tmp_path / "case.c").write_text(BODY)
    command = {"directory": str(tmp_path), "file": "case.c", "arguments": ["cc"]}
    (unit,) = run(executable, ["rec"], [command], ["--no-uses"])
    assert (unit["uses"], len(unit["records"])) == ([], 1)


def test_the_compilers_name_decides_the_machine(executable: Path, tmp_path: Path) -> None:
    (tmp_path / "case.c").write_text("struct rec { long a; void *b; };\n")
    sizes = []
    for arguments in (["gcc", "-m32"], ["ccache", "/usr/bin/aarch64-linux-gnu-gcc-12"], ["arm-linux-gnueabi-gcc"]):
        command = {"directory": str(tmp_path), "file": "case.c", "arguments": [*arguments, "-c", "case.c"]}
        sizes.append(run(executable, ["rec"], [command])[0]["records"][0]["bytes"])
    assert sizes == [8, 16, 8]


def test_headers_of_the_compiler_and_the_system_are_found(executable: Path, tmp_path: Path) -> None:
    source = tmp_path / "case.c"
    source.write_text("#include <stdarg.h>\n#include <stddef.h>\n#include <stdio.h>\n#include <sched.h>\n" + BODY)
    assert len(scan(executable, source)["uses"]) == 1


def test_a_header_says_the_same_in_every_unit(executable: Path, tmp_path: Path) -> None:
    (tmp_path / "rec.h").write_text(
        "struct rec { int a; };\n"
        "static inline int none(int i) { return i; }\n"
        "static inline int some(int i) {\n#ifdef MORE\n\treturn ((struct rec *)0)->a;\n#endif\n\treturn i; }\n"
        "static inline int get(struct rec *r) { return none(r->a); }\n"
    )
    (tmp_path / "one.c").write_text('#include "rec.h"\n')
    (tmp_path / "two.c").write_text('#define MORE\n#include "rec.h"\n')
    names = ("one.c", "one.c", "two.c")
    commands = [{"directory": str(tmp_path), "file": name, "arguments": ["cc"]} for name in names]
    lines = [[use["line"] for use in unit["uses"]] for unit in run(executable, ["rec"], commands)]
    assert lines == [[8], [8], [5, 8]]


def test_a_malformed_command_ends_the_program(executable: Path) -> None:
    arguments = [str(executable), "--record", "rec"]
    done = subprocess.run(arguments, input='{"file": "x.c"}\n', capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'linesmith-source-scan: a command is malformed: no "directory" or no "file"\n'
