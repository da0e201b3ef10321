# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith lint`` as a user runs it on compiled files: what is judged, accepted and written, and when it fails."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from c_source import compiled
from demo.example import compiled_in
from linesmith_command import LINESMITH, linesmith
from lint_builds import ALIGNED, NOT_ALIGNED, Change
from said_tables import Case, cases, filled
from violations_by_hand import report, violation

from linesmith.analyzer.base.errors import RuleUnknown
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.lint.linting import enabled_rules
from linesmith.analyzer.lint.pairs import located, tuned
from linesmith.analyzer.lint.rules.catalogue import Rule
from linesmith.analyzer.model import LintChoice, Severity

IGNORED = '[lint]\nignore = ["alignment-lost"]\n'
CONFIGURED = '[[type]]\nname = "counter"\nreason = "hot"\nconfiguration = ["CONFIG_SMP"]\n'
FORMS = ("json", "sarif", "github", "gitlab", "markdown")


def lint(change: Change, *options: str | Path, wanted: str = "") -> subprocess.CompletedProcess[str]:
    if wanted:
        (change.tree / "linesmith.toml").write_text(wanted)
    return linesmith("lint", "--base", change.old, "--head", change.new, *options, cwd=change.tree)


def test_the_file_with_intents_is_found_in_the_root_of_the_git_tree_or_named(change: Change, tmp_path: Path) -> None:
    (change.tree / "linesmith.toml").write_text(IGNORED)
    (change.tree / "drivers").mkdir()
    builds = ("--base", change.old, "--head", change.new)
    assert linesmith("lint", *builds, cwd=change.tree / "drivers").returncode == 0
    assert linesmith("lint", *builds, cwd=tmp_path).returncode == 1
    assert linesmith("lint", *builds, "--intent", change.tree / "linesmith.toml", cwd=tmp_path).returncode == 0
    baseline = change.tree / "known.json"
    for _ in range(2):
        assert lint(change, "--tree", change.tree, "--write-baseline", baseline).returncode == 0


def test_a_baseline_accepts_what_there_was_and_replaces_baselines_only(change: Change) -> None:
    baseline = change.tree / "known.json"
    written = lint(change, "--write-baseline", baseline)
    assert (written.returncode, written.stdout) == (0, "no violations in 1 record, 1 changed, 1 watched; 1 accepted\n")
    assert lint(change, "--baseline", baseline).returncode == 0
    assert lint(change, "--baseline", baseline, "--write-baseline", baseline).returncode == 0
    done = lint(change, "--write-baseline", change.tree / "linesmith.toml", wanted="# mine\n")
    assert done.returncode == 2
    assert "exists and is not a baseline, so it is not replaced" in done.stderr
    assert (change.tree / "linesmith.toml").read_text() == "# mine\n"


def test_the_configuration_of_a_build_is_given_or_carried_by_a_kernel(change: Change) -> None:
    (change.tree / ".config").write_text("CONFIG_SMP=y\n")
    assert "was not checked" not in lint(change, "--kconfig", change.tree / ".config", wanted=CONFIGURED).stdout
    packed = "".join(f"\\{byte:03o}" for byte in gzip.compress(b"CONFIG_SMP=y\n", mtime=0))
    source = f'{NOT_ALIGNED} const char config[] = "IKCFG_ST{packed}IKCFG_ED";'
    kernel = Change(change.tree, change.old, compiled(change.tree, source, name="kernel"))
    assert "was not checked" not in lint(kernel).stdout


def test_every_form_is_written_where_it_is_asked_for(change: Change) -> None:
    done = lint(change, *(f"--also={form}=lint.{form}" for form in FORMS))
    assert done.stdout.startswith("new.c:1: WARNING: ")
    for form in FORMS:
        assert (change.tree / f"lint.{form}").read_text() == lint(change, "--format", form).stdout


def test_the_same_builds_give_the_same_bytes_with_another_order_of_sets(change: Change) -> None:
    def results(seed: str) -> list[bytes]:
        folder = change.tree / seed
        folder.mkdir()
        also = [f"--also={form}={folder}/{form}" for form in FORMS]
        builds = ["--base", str(change.old), "--head", str(change.new)]
        argv = [str(LINESMITH), "lint", *builds, "--select", "all", *also]
        environment = {"PYTHONHASHSEED": seed, "LINESMITH_CACHE_DIR": str(change.tree / f"cache-{seed}")}
        text = subprocess.run(argv, env=environment, capture_output=True, check=False).stdout
        return [text, *(file.read_bytes() for file in sorted(folder.iterdir()))]

    first = results("0")
    assert (len(first), all(first)) == (6, True)
    assert results("1") == first


# The changes of builds.txt, BTF, and other machines

TEXTS = {
    "COUNTER": "struct counter { long hits; } A; struct counter c;",
    "KERNEL": "struct kmem_cache { int flags; } cache;",
    "HEAD": '[[type]]\nname = "s"\nreason = "measured"',
    "APART": ('[[type]]\nname = "s"\nreason = "measured"\n[[type.isolate]]\nmembers = ["guard"]\nfrom = ["key"]'),
    "PARTED": "struct s { long key; char pad[56]; long guard; } A s;",
    "ALIGNED": "struct s { long a; long lock A; } s; struct other { int a; } o;",
    "SESSION": "struct s { int id; long a, b; struct s *next; long lock A; } s; struct other { int a; } o;",
}


@pytest.mark.parametrize("case", cases(Path(__file__).with_name("builds.txt")), ids=str)
def test_what_is_said_of_builds(tmp_path: Path, case: Case) -> None:
    (tmp_path / "linesmith.toml").write_text("\n".join(filled(line, TEXTS) for line in case.all("i")))
    old, new = (filled(" ".join(case.all(sign)), TEXTS) for sign in "-+")
    builds = [compiled(tmp_path, new, name="new")]
    named = ["--base", compiled(tmp_path, old, name="old"), "--head", *builds] if old else builds
    options: list[str | Path] = ["--intent", tmp_path / "linesmith.toml", *" ".join(case.all("$")).split()]
    case.check(linesmith("lint", *options, *named, cache=tmp_path / "cache"))


@pytest.mark.skipif(shutil.which("pahole") is None, reason="pahole is not installed (Debian package dwarves)")
def test_raw_btf_says_no_machine_so_none_is_told_as_another(tmp_path: Path) -> None:
    elf, blob = compiled(tmp_path, ALIGNED), tmp_path / "blob"
    subprocess.run(["pahole", f"--btf_encode_detached={blob}", elf], check=True)
    done = linesmith("lint", "--base", blob, "--head", elf, cache=tmp_path / "cache")
    assert done.returncode == 0
    assert [line for line in done.stdout.splitlines() if line.startswith("note: ")] == [
        ("note: BTF has no alignment attributes and no source lines, so lost alignments are not reported; give DWARF")
    ]


def test_builds_for_two_machines_are_remarked(tmp_path: Path) -> None:
    native = compiled(tmp_path, ALIGNED, name="native")
    foreign = compiled(tmp_path, ALIGNED, compiler="aarch64-linux-gnu-gcc", name="foreign")
    done = linesmith("lint", "--base", native, "--head", foreign, cache=tmp_path / "cache")
    assert "the builds are for" in done.stdout + done.stderr


# What a profile shows of a build is guarded without an intent

pytestmark = pytest.mark.xdist_group("lint of a profile")

DISTURBED = "struct session_index: guard is written often and shares a line with root and leftmost"


def told(example: Path, *arguments: str | Path) -> str:
    return linesmith("lint", example / "bench", "--tree", example, *arguments).stdout


def test_a_member_that_the_profile_saw_written_disturbs_those_it_saw_read(example: Path) -> None:
    assert told(example).startswith("no violations in "), "without a profile nothing is known of accesses"
    first = told(example, "--profile", example / "bench.c2c").splitlines()[0]
    assert DISTURBED in first
    assert first.endswith("[write-near-read-mostly]")


def test_what_somebody_wrote_of_a_record_holds_instead(example: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[[type]]\nname = "session_index"\nreason = "known"\nhot = ["root"]\n')
    text = told(example, "--profile", example / "bench.c2c", "--intent", tmp_path / "mine.toml")
    assert text.startswith("no violations in ")


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        # A profile is of a build, not of a revision.
        ("--base-ref HEAD --profile {0}/bench.c2c", 2, "--profile applies to builds; give it with --base"),
        # A profile of another program guards nothing.
        ("{1}/other --profile {0}/bench.c2c", 0, "no access to a record of other, so no member is protected"),
    ],
)
def test_what_no_profile_guards_is_told(example: Path, tmp_path: Path, options: str, status: int, said: str) -> None:
    (tmp_path / "other.c").write_text("struct alone { int a; } alone; int main(void) { return alone.a; }")
    subprocess.run(["cc", "-g", "-o", "other", "other.c"], cwd=tmp_path, check=True)
    done = linesmith("lint", *options.format(example, tmp_path).split(), cache=tmp_path / "cache")
    assert (done.returncode, said in done.stderr) == (status, True), done.stderr


def test_a_profile_of_the_base_calls_members_as_they_were(example: Path, tmp_path: Path) -> None:
    """Nobody has to write their new names anywhere."""
    for source in example.glob("*.[ch]"):
        (tmp_path / source.name).write_text(source.read_text().replace("leftmost", "first"))
    builds = "--base", example / "bench", "--head", compiled_in(tmp_path)
    text = linesmith("lint", *builds, "--profile", example / "bench.c2c").stdout
    assert DISTURBED.replace("leftmost", "first") in text
    assert "[intent-stale]" not in text


# Which rules are on, which records somebody cared for, and how files are named

RULES = tuple(Rule(name, "", Severity.NOTE, lambda _: ()) for name in ("lock-moved", "group-left"))


def chosen(*choices: str) -> str:
    """The rules that are on where each choice selects what is in front of its ``|`` and ignores the rest."""
    every = [LintChoice(*(tuple(part.split()) for part in one.split("|"))) for one in choices]
    return " ".join(one.name for one in enabled_rules(every, RULES))


@pytest.mark.parametrize(
    ("choices", "on"),
    [
        ((), "lock-moved group-left"),
        (("| lock-moved",), "group-left"),
        (("| group-*",), "lock-moved"),
        (("all | lock-moved",), "group-left"),
        (("lock-moved | all",), "lock-moved"),
        (("group-left | group-*",), "lock-moved group-left"),  # a name wins over a pattern
        (("all | all",), ""),  # ignore wins where both say the same
        (("| lock-moved", "lock-moved |"), "lock-moved group-left"),  # the last choice has the last word
    ],
)
def test_rules_are_turned_on_and_off_by_names_and_patterns(choices: tuple[str, ...], on: str) -> None:
    assert chosen(*choices) == on


@pytest.mark.parametrize(("choice", "name"), [("| lock-mooved", "lock-mooved"), ("x* |", "x*")])
def test_a_name_or_a_pattern_of_no_rule_is_refused(choice: str, name: str) -> None:
    with pytest.raises(RuleUnknown, match=re.escape(f"no rule '{name}'")):
        chosen(choice)


def test_a_rule_is_explained_by_its_page_and_without_one_all_are_listed() -> None:
    listed = linesmith("explain").stdout
    assert re.search(r"^alignment-lost .* a record or member is no longer aligned to cache lines", listed, re.MULTILINE)
    page = linesmith("explain", "alignment-lost").stdout
    assert page.split(maxsplit=9)[:9] == [
        "alignment-lost",
        "A",
        "record,",
        "or",
        "one",
        "of",
        "its",
        "members,",
        "asked",
    ]
    assert "What to do Keep the attribute." in " ".join(page.split())


TUNED = [one.strip().split("\n-> ") for one in Path(__file__).with_name("tuned.txt").read_text().split("\n\n")[1:]]


@pytest.mark.parametrize(("source", "mark"), TUNED)
def test_what_shows_that_one_cared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, mark: str) -> None:
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "cache"))
    layouts = read_layouts(compiled(tmp_path, re.sub(r"\bA\b", "__attribute__((aligned(64)))", source))).layouts
    (layout,) = layouts.variants("dentry" if "dentry" in source else "s")
    assert tuned(layout, layouts) == ("" if mark.startswith("nothing") else mark)


@pytest.mark.parametrize(
    ("file", "named"),
    [
        ("include/a.h", "include/a.h"),
        ("./include/a.h", "include/a.h"),
        ("drivers/../include/a.h", "include/a.h"),
        ("/home/somebody/linux/include/a.h", "include/a.h"),
        ("/usr/include/stdio.h", "/usr/include/stdio.h"),
        ("../secret.h", "../secret.h"),
        ("a\0b", "a\0b"),
        (None, None),
    ],
)
def test_a_file_is_named_as_the_tree_has_it(tmp_path: Path, file: str | None, named: str | None) -> None:
    tree = tmp_path / "tree"
    (tree / "include").mkdir(parents=True)
    for name in ("include/a.h", "a.h", "../secret.h"):
        (tree / name).touch()
    found = located(report(violation(file=file), violation(file="a.h")), tree).violations
    assert [one.file for one in found if one.file != "a.h"] == [named]
    assert [one.file for one in found] == sorted([named, "a.h"], key=lambda one: one or "")
