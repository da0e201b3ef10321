# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that are set once: which of several places counts, and what no place may set."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from linesmith_command import linesmith


class Home:
    """A user with files of settings of their own, in a working directory of their own."""

    def __init__(self, folder: Path) -> None:
        self.user = folder / "config" / "linesmith" / "config.toml"
        self.here = folder / "work" / "below"
        self.tree = folder / "work" / "linesmith.toml"
        self.user.parent.mkdir(parents=True)
        self.here.mkdir(parents=True)

    def run(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "XDG_CONFIG_HOME": str(self.user.parents[1]), **variables}
        return linesmith(*words, env=environment, cwd=self.here)

    def setting(self, name: str, *words: str, **variables: str) -> tuple[str, str]:
        """Value and origin of a setting of a command line."""
        done = self.run("config", "--format", "json", *words, **variables)
        assert done.returncode == 0, done.stderr
        (found,) = [row for row in json.loads(done.stdout)["settings"] if row["name"] == name]
        return found["value"], found["origin"]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


EIGHT, SIXTEEN = "[defaults]\ncpus = 8\n", "[defaults]\ncpus = 16\n"
BOTH = "[defaults]\ncpus = 16\n\n[slab]\n# of the big machine\ncpus = 32\n"


@pytest.mark.parametrize(
    ("tree", "user", "words", "variables", "expected"),
    [
        ("", "", (), {}, ("64", "default")),
        (EIGHT, "", (), {}, ("8", "TREE:2")),
        (EIGHT, SIXTEEN, (), {}, ("16", "USER:2")),
        (EIGHT, BOTH, (), {}, ("32", "USER:6")),
        ("", BOTH, (), {"LINESMITH_CPUS": "2"}, ("2", "LINESMITH_CPUS")),
        ("", BOTH, (), {"LINESMITH_CPUS": "2", "LINESMITH_SLAB_CPUS": "3"}, ("3", "LINESMITH_SLAB_CPUS")),
        ("", BOTH, ("--cpus", "5"), {"LINESMITH_SLAB_CPUS": "3"}, ("5", "command line")),
    ],
    ids=["default", "tree", "user", "user, for the command", "variable", "variable for the command", "command line"],
)
def test_which_of_several_places_counts(
    home: Home, tree: str, user: str, words: tuple[str, ...], variables: dict[str, str], expected: tuple[str, str]
) -> None:
    home.tree.write_text(tree)
    home.user.write_text(user)
    value, origin = home.setting("cpus", "slab", *words, **variables)
    assert (value, origin.replace(str(home.tree), "TREE").replace(str(home.user), "USER")) == expected


def test_the_tree_that_is_named_or_set_counts_instead_of_the_one_around(home: Home, tmp_path: Path) -> None:
    home.tree.write_text(EIGHT)
    named = tmp_path / "named"
    named.mkdir()
    (named / "linesmith.toml").write_text("[defaults]\ncpus = 4\n")
    expected = ("4", f"{named}/linesmith.toml:2")
    assert home.setting("cpus", "patch", "--tree", str(named)) == expected
    for command in ("suggest", "patch"):
        assert home.setting("cpus", command, LINESMITH_TREE=str(named)) == expected


def test_beyond_the_top_of_a_repository_nothing_is_looked_for(home: Home) -> None:
    home.tree.write_text("[defaults]\ncpus = 8\n")
    (home.here / ".git").mkdir()
    assert home.setting("cpus", "slab") == ("64", "default")


def test_a_variable_that_is_no_option_and_the_format_of_the_command_itself_are_listed(home: Home) -> None:
    assert home.setting("LINESMITH_CACHE_DIR", LINESMITH_CACHE_DIR="/other") == ("/other", "LINESMITH_CACHE_DIR")
    home.user.write_text('[defaults]\nformat = "json"\n')
    assert json.loads(home.run("config").stdout)["schema"] == 1


def test_what_names_or_decides_the_work_cannot_be_set(home: Home) -> None:
    for name in ("output", "dry-run", "resume", "elf", "rules", "save", "write-baseline"):
        home.user.write_text(f'[defaults]\n{name} = "x"\n')
        done = home.run("config")
        assert done.returncode == 2
        assert done.stderr.startswith(f"linesmith: {home.user}:2: {name} cannot be set here; valid names are build, ")
    home.user.write_text("")
    listed = home.run("config", "--show-origin", LINESMITH_OUTPUT="x", LINESMITH_ELF="y").stdout
    assert "LINESMITH_OUTPUT" not in listed
    assert "LINESMITH_ELF" not in listed


def test_a_tree_can_set_no_path_no_command_and_no_verdict(home: Home) -> None:
    for name in ("build", "cflags", "format", "machines", "slabinfo", "tree", "fail-on"):
        home.tree.write_text(f'[defaults]\n{name} = "/etc/passwd"\n')
        done = home.run("config")
        said = f"linesmith: {home.tree}:2: {name} cannot be set here; valid names are cpus, kernel, page-size\n"
        assert (done.returncode, done.stderr) == (2, said)


def test_a_value_of_a_tree_makes_no_line_of_its_own_and_steers_no_terminal(home: Home) -> None:
    home.tree.write_text('[defaults]\nkernel = "6.1\\ncflags -fplugin=x \\u001b[2J"\n')
    (line,) = [line for line in home.run("config", "slab").stdout.splitlines() if line.startswith("kernel")]
    assert r"  6.1\ncflags -fplugin=x \u001b[2J  " in line


def test_a_tree_file_that_is_a_link_or_a_pipe_is_not_read(home: Home, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(EIGHT)
    home.tree.symlink_to(tmp_path / "secret")
    done = home.run("config")
    assert done.returncode == 2
    assert done.stderr.startswith(f"linesmith: {home.tree} is a symbolic link, which is not followed")
    home.tree.unlink()
    os.mkfifo(home.tree)
    assert home.run("config").returncode == 2


def test_other_tables_of_a_tree_file_are_not_looked_at(home: Home) -> None:
    home.tree.write_text('[lint]\nignore = ["straddle"]\n\n[defaults]\ncpus = 8\n')
    assert home.setting("cpus", "slab") == ("8", f"{home.tree}:5")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cpus = 4\n", ":1: cpus is not in a table; move it below [defaults]"),
        ("[slabs]\ncpus = 4\n", ":1: there is no command slabs; name tables after commands, or defaults for all"),
        ("[slab]\ncpus = [4]\n", ":2: cpus is neither text nor a number; write it as on the command line"),
        ("[slab]\nkernel = 6.10\n", ":2: kernel is not an integer; write an integer, or text in quotes ('6.10')"),
        ("[slab]\ncpus = true\n", ":2: cpus is neither text nor a number; write it as on the command line"),
        ('[layout]\ntree = "x"\n', ":2: tree cannot be set here; valid names are deadline, format\n"),
        (
            '[slab]\ncflags = "x"\n',
            ":2: cflags cannot be set here; valid names are cpus, format, kernel, page-size, slabinfo\n",
        ),
        ("[slab\n", ":1: not valid TOML: Expected ']' at the end of a table declaration; "),
    ],
)
def test_what_makes_no_sense_is_told_with_its_place(home: Home, text: str, said: str) -> None:
    home.user.write_text(text)
    assert home.run("config").stderr.startswith(f"linesmith: {home.user}{said}")


def test_a_tree_can_be_set_for_every_command_that_works_on_one(home: Home) -> None:
    home.user.write_text(f'[defaults]\ntree = "{home.here}"\n')
    for command in ("suggest", "patch", "encapsulate", "report", "lint", "intent", "diff", "doctor"):
        assert home.setting("tree", command) == (str(home.here), f"{home.user}:2")
        assert home.setting("tree", command, LINESMITH_TREE="/usr") == ("/usr", "LINESMITH_TREE")


def test_compiler_options_that_are_set_do_not_keep_lint_from_builds(home: Home) -> None:
    home.user.write_text('[defaults]\ncflags = "-O2"\n')
    given = home.run("lint", "--cflags=-O2", "none.elf")
    assert "none.elf" in given.stderr
    (home.here / "none.elf").touch()
    assert "--cflags" in home.run("lint", "--cflags=-O2", "none.elf").stderr
    assert "--cflags" not in home.run("lint", "none.elf").stderr


def test_a_value_that_an_option_does_not_take_has_its_place(home: Home) -> None:
    home.user.write_text("[slab]\ncpus = 0\n")
    (home.here / "elf").touch()
    said = f"{home.user}:2: --cpus: 0 is not in the range 1<=x<=65536; give one in that range"
    assert home.run("slab", "elf", "file").stderr == f"linesmith slab: {said}\n"
    said = "LINESMITH_SLAB_CPUS: 'many' is not a number; give one"
    assert home.run("slab", "elf", "file", LINESMITH_SLAB_CPUS="many").stderr == f"linesmith slab: {said}\n"


def test_help_is_the_same_whatever_is_set(home: Home) -> None:
    plain = home.run("slab", "--help").stdout
    home.user.write_text("[slab]\ncpus = 16\n")
    assert home.run("slab", "--help").stdout == plain
    home.user.write_text("broken")
    assert home.run("slab", "--help").stdout == plain


def test_every_setting_is_listed_with_its_origin_and_its_commands(home: Home) -> None:
    home.user.write_text("[slab]\ncpus = 16\n")
    lines = home.run("config", "--show-origin").stdout.splitlines()
    assert lines[0].split() == ["option", "value", "origin", "commands"]
    assert [line.split() for line in lines if line.startswith("cpus ")] == [
        ["cpus", "16", f"{home.user}:2", "slab"],
        ["cpus", "64", "default", "suggest", "patch", "report", "lint", "intent"],
    ]
