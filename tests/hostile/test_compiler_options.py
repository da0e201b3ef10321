# SPDX-License-Identifier: GPL-2.0-or-later
"""Recorded compiler options are used only where a rule allows them; a kernel configuration is data.

Neither loads code, writes a file or reads one, and the change under review does not choose the configuration.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from itertools import cycle
from pathlib import Path

import pytest
from c_source import compiled
from elf.objects import Dwarf, dwarf_file
from hypothesis import given, settings
from hypothesis import strategies as st
from linesmith_command import linesmith
from lint_commits import Commits, repository
from matrix.small_kernel import FILES, MAKEFILE
from patch_cases import write_files

from linesmith.analyzer.base.errors import DebugInfoDamaged, DebugInfoMissing, ElfError, TreeError
from linesmith.analyzer.layouts.dwarf import object_reader, read_layouts, table_from_reader
from linesmith.patches.build.confinement import is_confinable
from linesmith.patches.build.kbuild import kernel_build
from linesmith.patches.build.kconfig import read_configuration
from linesmith.patches.build.options import from_words, used_options
from linesmith.patches.series.mails import unified_diff

OPTIONS = tomllib.loads(Path(__file__).with_name("sources").joinpath("options.toml").read_text())
HEADER = "struct cache {\n\tlong root;\n\tlong uses;\n};\n"
GROWN = HEADER.replace("\tlong uses;\n", "\tlong uses;\n\tlong more[9];\n")


@pytest.mark.parametrize("words", OPTIONS["loads"])
def test_what_loads_code_or_options_is_left_out(words: str) -> None:
    options, left_out = used_options(["-DA", *words.split(), "-DB"])
    assert options == ("-DA", "-DB")
    assert left_out


@pytest.mark.parametrize("word", OPTIONS["files"])
def test_what_reads_or_writes_a_file_is_left_out(word: str) -> None:
    options, _ = used_options(["-DA", word, "-DB"])
    assert options == ("-DA", "-DB")


@pytest.mark.parametrize("word", OPTIONS["used"])
def test_what_a_layout_or_a_header_needs_is_used(word: str) -> None:
    assert used_options([word]) == used_options([word, "-o", "a.o", "-c", "-MD", "-MF", "x.d", "a.c"])
    assert used_options([word]) == ((word,), ())


def test_a_value_in_the_next_word_is_no_option_of_its_own() -> None:
    words = "-D -fplugin=x -I -B/x -isystem -specs=x -include -wrapper -target x86_64 -D"
    used = "-D-fplugin=x -I-B/x -isystem -specs=x -include -wrapper --target=x86_64"
    assert used_options(words.split())[0] == tuple(used.split())


PROGRAMS = ("-o", "-B", "-specs", "-wrapper", "-fplugin", "-Wa", "-Wp", "-Wl", "-X", "-load")


@settings(max_examples=50)
@given(st.lists(st.text("-=,@ /fgmoWDIUXpluginclardspec0123456789\n'\"", max_size=24), max_size=8))
def test_each_word_that_is_used_is_allowed(words: list[str]) -> None:
    """A word that is no value is a macro, a place for headers, or one without a path; what takes a value has it."""
    takes = ("-isystem", "-iquote", "-idirafter", "-include", "-imacros", "-isysroot")
    options = iter(used_options(words)[0])
    for word in options:
        if word in takes:
            assert next(options)
        elif not word.startswith(("-D", "-U", "-I", "--sysroot=", "--target=")):
            assert re.fullmatch(r"-[\w+=.-]+", word)
            assert not word.startswith(PROGRAMS)


WITHOUT_VALUE = [one for one in OPTIONS["used"] if not re.match("-D|-U|-I|-i|--sysroot|--target|.*[,]|.*=/", one)]


@pytest.mark.parametrize("word", [*WITHOUT_VALUE, "-Wa", "-W", "-fx=", "-m", "-O"])
def test_no_option_takes_a_path_or_a_list_of_options(word: str) -> None:
    assert [end for end in (",-x", "=/x", "/x", "=a b") if used_options([word + end])[0]] == []


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A program with a database, and a shared object that leaves a trace where it is loaded."""
    tree = write_files(tmp_path / "tree", {"src/cache.h": HEADER, "src/cache.c": '#include "cache.h"\n'})
    code = '#include <stdio.h>\n__attribute__((constructor)) static void f(void) { fopen("RAN", "w"); }\n'
    write_files(tmp_path, {"plugin.c": code.replace("RAN", str(tmp_path / "ran"))})
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", "x.so", "plugin.c"], cwd=tmp_path, check=True, timeout=60)
    return tree


def diff(tree: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """``diff --patch`` of a change of the header, where the tree records these options."""
    entry = {"directory": str(tree), "file": "src/cache.c", "arguments": ["cc", *options, "-c", "src/cache.c"]}
    write_files(tree, {"compile_commands.json": json.dumps([entry])})
    patch = unified_diff(HEADER.encode(), GROWN.encode(), "src/cache.h").decode()
    return linesmith("diff", "--patch", "-", "--tree", tree, stdin=patch)


def test_a_recorded_plugin_is_not_loaded(tree: Path) -> None:
    assert "cache grows from 16 to 88 bytes" in diff(tree, f"-fcompare-debug=-fplugin={tree.parent}/x.so").stdout
    assert not (tree.parent / "ran").exists()


def test_a_recorded_report_overwrites_no_file(tree: Path) -> None:
    kept = tree.parent / "kept"
    kept.write_text("mine\n")
    done = diff(tree, f"-fopt-info-all={kept}", f"-ftime-trace={kept}", f"-foptimization-record-file={kept}")
    assert "cache grows from 16 to 88 bytes" in done.stdout
    assert kept.read_text() == "mine\n"


def test_options_that_are_left_out_are_told(tree: Path) -> None:
    done = diff(tree, "-fplugin=/x.so", "-specs=/x", "-Wall", "-MD")
    assert "left out, because no layout depends on them: -fplugin=/x.so, -specs=/x" in done.stdout + done.stderr


@pytest.mark.parametrize("place", ["bin/gcc", "../elsewhere/gcc"])
def test_a_recorded_compiler_in_no_folder_of_programs_is_not_run(tmp_path: Path, place: str) -> None:
    tree = write_files(tmp_path / "tree", {"a.c": ""})
    program = tree / place
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    with pytest.raises(TreeError, match="was not run"):
        from_words([str(program), "-c", "a.c"], tree / "compile_commands.json", tree, (tree,))
    assert not (tmp_path / "ran").exists()


# As the kernel's own makefile: `scripts/setlocalversion` prints the string, and a recipe echoes it without quotes.
RELEASE = "\t. $(out)/.config; eval echo $$CONFIG_LOCALVERSION\n"
RUNS = MAKEFILE.replace("prepare0:\n", f"prepare0:\n{RELEASE}")
# Seen under CONFIG_PROVE_LOCKING only.
GROWN_KERNEL = FILES["include/linux/s.h"].replace("map[4]", "map[9]")
KERNEL = {name: text for name, text in {**FILES, "Makefile": RUNS}.items() if name != ".config"}


def configuration(line: str) -> str:
    return FILES[".config"] + f"{line}\n"


@pytest.fixture
def checked_out(tmp_path: Path) -> tuple[Commits, str, Path]:
    """A checkout of a head that brings a ``.config``; the commit of its base; the file that a command would make."""
    made, ran = repository(tmp_path / "tree"), tmp_path / "ran"
    hostile = configuration(f'CONFIG_LOCALVERSION=";touch {ran};: -"') + "CONFIG_PROVE_LOCKING=y\n"
    base = made.commit(KERNEL)
    head = made.commit({**KERNEL, "include/linux/s.h": GROWN_KERNEL, ".config": hostile}, base)
    made.git("reset", "-q", "--hard", head)
    return made, base, ran


def test_a_committed_configuration_is_not_used(checked_out: tuple[Commits, str, Path]) -> None:
    made, base, ran = checked_out
    done = made.lint(base, "HEAD")
    assert "tree/.config was not used, because it may be part of the change" in done.stdout
    assert " 0 changed" in done.stdout
    assert not ran.exists()


def test_the_configuration_of_the_base_is_used(tmp_path: Path) -> None:
    made = repository(tmp_path / "tree")
    base = made.commit({**KERNEL, ".config": configuration("CONFIG_PROVE_LOCKING=y")})
    head = made.commit({**KERNEL, "include/linux/s.h": GROWN_KERNEL, ".config": FILES[".config"]}, base)
    made.git("reset", "-q", "--hard", head)
    assert " 3 changed" in made.lint(base, head).stdout


def test_a_string_that_the_user_names_runs_nothing(checked_out: tuple[Commits, str, Path]) -> None:
    made, base, ran = checked_out
    done = made.lint(base, "HEAD", "--kconfig", made.root / ".config")
    assert " 3 changed" in done.stdout
    assert not ran.exists()


@pytest.mark.study
@pytest.mark.real
def test_no_string_of_a_real_kernel_runs(kernel_tree: Path, tmp_path: Path) -> None:
    """The strings of x86_64_defconfig get, in turns, what make or a shell of the tree would run."""
    ran, build = tmp_path / "ran", tmp_path / "build"
    values = cycle((f";touch {ran};: -", f"$(shell touch {ran})", f"`touch {ran}`", f"&&touch${{IFS}}{ran}"))
    lines = (kernel_tree / ".config").read_text().splitlines()
    hostile = [f'{line.partition("=")[0]}="{next(values)}"' if '="' in line else line for line in lines]
    write_files(build, {".config": "\n".join((*hostile, ""))})
    kernel_build(kernel_tree, build, lambda _: None)
    assert not ran.exists()


def test_make_gets_no_string_and_no_comment(tmp_path: Path) -> None:
    text = (
        '# Linux/x86 6.1.0 Kernel Configuration\n# $(shell x)\nCONFIG_A="\\"$(x)"\nCONFIG_B=y\n# CONFIG_C is not set\n'
    )
    (tmp_path / "config").write_text(text)
    made = read_configuration(tmp_path / "config").for_make
    assert made == '# Linux/x86 6.1.0 Kernel Configuration\nCONFIG_A=""\nCONFIG_B=y\n# CONFIG_C is not set\n'


@pytest.mark.skipif(not is_confinable(), reason="this kernel has no Landlock")
@pytest.mark.parametrize(
    "recipe",
    [
        "touch @OUTSIDE@",
        "cat @SECRET@ > $(out)/include/generated/stolen",
        "echo x >> $(here)Kbuild",
        "/usr/bin/python3 -c 'import socket; socket.socket()'",
    ],
)
def test_the_make_of_a_base_reaches_its_build_only(tmp_path: Path, recipe: str) -> None:
    """The base is trusted to describe its build, not with the machine: whoever merged it may have been deceived."""
    secret, outside = tmp_path / "secret", tmp_path / "outside"
    secret.write_text("ossifrage\n")
    text = recipe.replace("@OUTSIDE@", str(outside)).replace("@SECRET@", str(secret))
    makefile = MAKEFILE.replace("prepare0:\n", f"prepare0:\n\t@{text} || echo refused\n")
    tree = write_files(tmp_path / "tree", {**FILES, "Makefile": makefile})
    build = kernel_build(tree, None, lambda _: None)
    assert build.preparation is not None
    assert "refused" in (build.preparation.root / "log").read_text()
    assert not outside.exists()
    assert (tree / "Kbuild").read_text() == ""


# Objects compiled of C text that nobody has reviewed: ``asm`` can give them any debug information


OWN = "struct own { int first; struct { char in; } second[2]; struct own *next; } own;\n"
REFUSED = (
    "the object refers to debug information in another file, which is not read for code under review; "
    "build it without -gsplit-dwarf and dwz"
)

# What the text adds to its object, with the name of a file of somebody else.
OTHER_FILES = tomllib.loads(Path(__file__).with_name("sources").joinpath("references.toml").read_text())
DEBUG_LINK = OTHER_FILES.pop("debug link")


def hostile_object(folder: Path, reference: str, named: Path, *flags: str) -> Path:
    """An object of C text with assembly in it that names the file."""
    assembly = json.dumps(reference.replace("NAME", str(named)))  # C escapes strings as JSON does
    return compiled(folder, f"{OWN}asm({assembly});", *flags)


def read(file: Path) -> tuple[bytes, int]:
    """What the program writes about the object, and its exit status."""
    done = subprocess.run([object_reader(), file], capture_output=True, check=False, timeout=60)
    assert done.stderr == b""
    return done.stdout, done.returncode


@pytest.mark.parametrize("reference", OTHER_FILES.values(), ids=OTHER_FILES.keys())
def test_an_object_that_names_another_file_is_refused_and_not_told_whether_there_is_one(
    tmp_path: Path, reference: str
) -> None:
    named = tmp_path / "other"
    file = hostile_object(tmp_path, reference, named)
    without = read(file)
    with pytest.raises(DebugInfoMissing) as refused:
        table_from_reader(*without)
    assert (str(refused.value), without[1]) == (f"{file}: {REFUSED}", 2)
    shutil.copy(file, named)
    with_an_object = read(file)
    named.unlink()
    os.mkfifo(named)  # who opened it would wait for ever
    assert without == with_an_object == read(file)
    if shutil.which("strace"):
        log = tmp_path / "log"
        subprocess.run(["strace", "-f", "-e", "trace=file,network", "-o", log, object_reader(), file], check=False)
        _, opened, behind = log.read_text().partition(f'"{file}"')
        assert opened
        assert re.findall(r'[( ]"[^"]+"|socket', behind.partition("\n")[2]) == [], "nothing is looked up by that name"


def test_a_debug_link_is_refused_where_debug_information_is_missing_and_left_alone_elsewhere(tmp_path: Path) -> None:
    file = hostile_object(tmp_path, DEBUG_LINK, tmp_path / "other.o")
    assert table_from_reader(*read(file)).variants("own")[0].size == 16
    subprocess.run(["objcopy", "--strip-debug", file], check=True)
    with pytest.raises(DebugInfoMissing, match=REFUSED):
        table_from_reader(*read(file))


def test_no_debug_file_is_looked_for_by_build_id(tmp_path: Path) -> None:
    note = '.pushsection .note.gnu.build-id,"a",@note\n.long 4, 20, 3\n.asciz "GNU"\n.fill 20, 1, 7\n.popsection\n'
    file = hostile_object(tmp_path, note, tmp_path)
    subprocess.run(["objcopy", "--strip-debug", file], check=True)
    with pytest.raises(DebugInfoMissing, match=r"holds no DWARF; build it with -g$"):
        table_from_reader(*read(file))


@pytest.mark.parametrize("flags", [("-gdwarf-5",), ("-gdwarf-4", "-fdebug-types-section"), ("-gz=zlib",)])
def test_the_records_are_those_that_this_process_would_read(tmp_path: Path, flags: tuple[str, ...]) -> None:
    file = compiled(tmp_path, OWN, *flags)
    assert list(table_from_reader(*read(file))) == list(read_layouts(file).layouts)


def test_a_record_that_holds_itself_by_value_is_damage(tmp_path: Path) -> None:
    dwarf = Dwarf()
    dwarf.struct("snake", 4, tail=dwarf.here())
    output, status = read(dwarf_file(tmp_path / "file", dwarf))
    assert (status, b'the record \\"snake\\" holds itself by value' in output) == (2, True)


def test_a_name_with_a_line_break_breaks_no_line_and_what_is_no_object_is_an_elf_error(tmp_path: Path) -> None:
    dwarf = Dwarf()
    dwarf.struct("one\ntwo\u2028three", 4, first=dwarf.int)
    assert table_from_reader(*read(dwarf_file(tmp_path / "file", dwarf))).names() == ("one\ntwo\u2028three",)
    (tmp_path / "file").write_text("text")
    with pytest.raises(ElfError, match="is not an ELF file"):
        table_from_reader(*read(tmp_path / "file"))


def member(record: int) -> str:
    return f'{{"name":"m","type":"t","declarator":"m","offset":0,"size":8,"record":{record}}}'


def line(number: int, *members: str, size: int = 8) -> bytes:
    made = f'{{"id":{number},"name":"n","kind":"struct","size":{size},"members":[{",".join(members)}]}}\n'
    return made.encode()


WRONG_OUTPUT = {
    "no JSON": (b"x\n", "invalid output"),
    "no text": (b'"\xff"\n', "invalid output"),
    "nested without end": (b'{"x":' + b"[" * 100_000, "invalid output"),
    "two records of one id": (line(0) + line(0), "record 1 has the id 0"),
    "an impossible size": (line(0, size=1 << 60), "record 0 has an impossible size or alignment"),
    "a member of no record": (line(0, member(7)), "record 0 has a member whose type does not exist"),
    "a record that holds itself": (line(0, member(0)), "a record holds itself by value"),
    "a ring of records": (line(0, member(1)) + line(1, member(0)), "a record holds itself by value"),
}


@pytest.mark.parametrize(("output", "wrong"), WRONG_OUTPUT.values(), ids=WRONG_OUTPUT.keys())
def test_what_the_program_writes_is_not_trusted(output: bytes, wrong: str) -> None:
    with pytest.raises(DebugInfoDamaged, match=f"the file is damaged: {wrong}$"):
        table_from_reader(output, 0)


@pytest.mark.parametrize("output", [b"", b"x", b'{"error":"KeyboardInterrupt","message":"m"}', b"[" * 100_000])
def test_an_end_without_a_report_is_told_with_its_status(output: bytes) -> None:
    with pytest.raises(DebugInfoDamaged, match=r"it ended with status -11$"):
        table_from_reader(output, -11)


def test_a_report_cannot_write_to_the_terminal() -> None:
    with pytest.raises(ElfError) as told:
        table_from_reader(b'{"error":"ElfError","message":"a\\u001b[2Jb\\nc"}', 2)
    assert str(told.value) == "a\ufffd[2Jb\ufffdc"
