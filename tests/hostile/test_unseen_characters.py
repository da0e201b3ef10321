# SPDX-License-Identifier: GPL-2.0-or-later
"""Names with characters that nobody sees, or that turn others around: each result shows them by their numbers.

The names are put into the debug information of real files. JSON stays the exact names, in escapes of its own.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from c_source import compiled
from demo.example import example_program
from linesmith_command import linesmith
from lint_builds import ALIGNED, NOT_ALIGNED

from linesmith.analyzer.base.text import is_unseen, visible
from linesmith.analyzer.model import FileChange, PatchSeries, SeriesStep
from linesmith.patches.series.mails import patch_files

pytestmark = pytest.mark.xdist_group("unseen characters")
CHARACTERS = (
    *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c",
    *"\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u3164\u2028\u2029\ufe0f\U000e0041\U000e0100",
    *"\x01\x07\x08\x0c\r\x1b\x7f\x85\x9b",
)
BIDI = "sess\u202e_index"
FORMATS = ("text", "json", "github", "gitlab", "sarif", "markdown")


def unseen_in(text: str) -> list[str]:
    return [one for one in text if is_unseen(one) and one not in "\n\t"]


def renamed(elf: Path, names: dict[str, str]) -> Path:
    """The file with other names, each as many bytes as before."""
    content = elf.read_bytes()
    for old, new in names.items():
        assert len(old.encode()) == len(new.encode())
        assert old.encode() + b"\0" in content
        content = content.replace(old.encode() + b"\0", new.encode() + b"\0")
    elf.write_bytes(content)
    return elf


def placeholder(number: int) -> str:
    return f"m{number:02}xxxx"


def member(number: int) -> str:
    """A name of as many bytes, with the character of that number and signs that fill it up."""
    character = CHARACTERS[number]
    return f"m{number:02}{character}" + "x" * (4 - len(character.encode()))


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record with a member for each of the characters."""
    folder = tmp_path_factory.mktemp("every")
    members = " ".join(f"int {placeholder(number)};" for number in range(len(CHARACTERS)))
    elf = compiled(folder, f"struct every {{ {members} }} every; int main(void) {{ return 0; }}")
    return renamed(elf, {placeholder(number): member(number) for number in range(len(CHARACTERS))})


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example program, whose record turns what stands behind its name around."""
    folder = tmp_path_factory.mktemp("bench") / "workplace"
    example_program(folder)
    renamed(folder / "bench", {"session_index": BIDI, "guard": "gu\u2066"})
    return folder


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> tuple[str | Path, ...]:
    """Two builds for a lint, in which a record of an odd name in a file of an odd name loses its alignment."""
    folder = tmp_path_factory.mktemp("builds")
    names = {"counter": "coun\u202e", "new.c": "\u2067.c"}
    old = renamed(compiled(folder, ALIGNED, name="old"), {"counter": "coun\u202e"})
    return "--base", old, "--head", renamed(compiled(folder, NOT_ALIGNED, name="new"), names)


def test_every_character_shows_by_its_number_in_text_and_is_exact_in_json(every: Path) -> None:
    names = [member(number) for number in range(len(CHARACTERS))]
    text, document = (linesmith("layout", every, "every", *form).stdout for form in ((), ("--format", "json")))
    assert unseen_in(text + document) == []
    assert [name for name in names if f"{visible(name)};" not in text] == []
    (layout,) = json.loads(document)["records"]
    assert [one["name"] for one in layout["members"]] == names


@pytest.mark.parametrize(
    "text", ["\u202e", "\x1b", "\x9b", "\U000e0041", "r\u00e9sum\u00e9", "\u5bbd\u05d0\u2014 \u2026\ty\n"]
)
def test_a_character_is_written_as_json_writes_it_and_text_of_any_language_stays(text: str) -> None:
    shown = visible(f"a{text}b")
    assert shown == (f"a{text}b" if not unseen_in(text) else f"a{json.dumps(text)[1:-1]}b")
    assert visible(r"a\b") == r"a\b"


@pytest.mark.parametrize("command", ["hot", "suggest", "report", "compare"])
def test_what_is_said_of_a_profile_steers_nobody(command: str, workplace: Path, tmp_path: Path) -> None:
    profiles = [workplace / "bench.c2c"]
    if command == "compare":
        profiles.append(Path(shutil.copy(workplace / "bench.c2c", tmp_path / "again.c2c")))
    page = tmp_path / "page.html"
    forms: list[tuple[str | Path, ...]] = [("--html", page)] if command == "report" else [(), ("--format", "json")]
    for form in forms[: 1 if command == "suggest" else None]:  # it makes runs up anew each time
        done = linesmith(command, workplace / "bench", *profiles, *form)
        assert done.returncode == 0, done.stderr
        shown = page.read_text() if command == "report" else done.stdout
        assert unseen_in(shown + done.stderr) == []
        assert r"sess\u202e_index" in shown


@pytest.mark.parametrize("form", ["map", "svg"])
def test_drawn_lines_steer_nobody(form: str, workplace: Path) -> None:
    done = linesmith("layout", workplace / "bench", BIDI, "--format", form)
    assert done.returncode == 0, done.stderr
    assert unseen_in(done.stdout) == []
    assert "u202e_index" in done.stdout


@pytest.mark.parametrize("form", FORMATS)
def test_a_lint_steers_nobody(form: str, builds: tuple[str | Path, ...]) -> None:
    done = linesmith("lint", *builds, "--format", form)
    assert done.returncode == 1, done.stderr
    assert unseen_in(done.stdout + done.stderr) == []
    assert "u202e" in done.stdout
    assert "u2067" in done.stdout or "%E2%81%A7" in done.stdout, "an address in SARIF"


def test_a_lint_as_json_has_the_exact_names(builds: tuple[str | Path, ...]) -> None:
    report = json.loads(linesmith("lint", *builds, "--format", "json").stdout)
    assert [one["type"] for one in report["violations"]] == ["struct coun\u202e"]


def test_files_that_are_written_steer_nobody_and_hold_the_exact_names(
    builds: tuple[str | Path, ...], workplace: Path, tmp_path: Path
) -> None:
    linesmith("lint", *builds, "--write-baseline", tmp_path / "known.json")
    text = (tmp_path / "known.json").read_text()
    assert [one["type"] for one in json.loads(text)["accepted"]] == ["struct coun\u202e"]
    assert linesmith("lint", *builds, "--baseline", tmp_path / "known.json").returncode == 0
    done = linesmith("intent", workplace / "bench", BIDI, "--from", workplace / "bench.c2c")
    assert done.returncode == 0, done.stderr
    assert unseen_in(text + done.stdout) == []
    assert r'name = "sess\u202e_index"' in done.stdout


def test_a_refusal_steers_nobody(every: Path, tmp_path: Path) -> None:
    for words in (("layout", every, "no\u202esuch"), ("layout", tmp_path / "no\u2066file"), ("no\u200bcommand",)):
        done = linesmith(*words)
        assert done.returncode == 2
        assert unseen_in(done.stderr) == []
        assert r"no\u2" in done.stderr


def test_the_message_of_a_patch_is_shown_and_its_diff_is_exact(tmp_path: Path) -> None:
    before = "/* tu\u202ern */\nint a;\nint b;\n".encode()
    (tmp_path / "a.h").write_bytes(before)
    change = FileChange("a.h", before, before.replace(b"int a;\nint b;", b"int b;\nint a;"))
    (made,) = patch_files(PatchSeries((SeriesStep("a: move tu\u202ern\n\nBecause.\n", (change,)),)), tmp_path)
    message, _, diff = made.content.decode().partition("---\n")
    assert message == "a: move tu\\u202ern\n\nBecause.\n"
    assert "\n /* tu\u202ern */\n" in diff
    subprocess.run(["patch", "-s", "-p1"], cwd=tmp_path, input=made.content, check=True)
    assert (tmp_path / "a.h").read_bytes() == change.after
