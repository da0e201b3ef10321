# SPDX-License-Identifier: GPL-2.0-or-later
"""Units, their commands, and those that cannot be parsed."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from patch_cases import write_files
from source_scan.scanner import Unit, run

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
