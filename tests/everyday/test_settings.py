# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that are set once: which of several places counts, and what no place may set."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from linesmith_command import LINESMITH


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
        return subprocess.run(
            [LINESMITH, *words], capture_output=True, text=True, check=False, env=environment, cwd=self.here
        )

    def setting(self, name: str, *words: str, **variables: str) -> tuple[str, str]:
        """Value and origin of a setting of a command line."""
        done = self.run("config", "--format", "json", *words, **variables)
        assert done.returncode == 0, done.stderr
        (found,) = [row for row in json.loads(done.stdout)["settings"] if row["name"] == name]
        return found["value"], found["origin"]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_the_default_counts_last(home: Home) -> None:
    assert home.setting("cpus", "slab") == ("64", "default")


def test_the_tree_around_the_working_directory_comes_before_the_default(home: Home) -> None:
    home.tree.write_text("[defaults]\ncpus = 8\n")
    assert home.setting("cpus", "slab") == ("8", f"{home.tree}:2")


def test_the_user_comes_before_the_tree(home: Home) -> None:
    home.tree.write_text("[defaults]\ncpus = 8\n")
    home.user.write_text("[defaults]\ncpus = 16\n")
    assert home.setting("cpus", "slab") == ("16", f"{home.user}:2")


def test_a_table_for_the_command_comes_before_that_for_all(home: Home) -> None:
    home.user.write_text("[defaults]\ncpus = 16\n\n[slab]\n# of the big machine\ncpus = 32\n")
    assert home.setting("cpus", "slab") == ("32", f"{home.user}:6")


def test_a_variable_comes_before_files(home: Home) -> None:
    home.user.write_text("[slab]\ncpus = 16\n")
    assert home.setting("cpus", "slab", LINESMITH_CPUS="2") == ("2", "LINESMITH_CPUS")


def test_a_variable_for_the_command_comes_before_that_for_all(home: Home) -> None:
    found = home.setting("cpus", "slab", LINESMITH_CPUS="2", LINESMITH_SLAB_CPUS="3")
    assert found == ("3", "LINESMITH_SLAB_CPUS")


def test_the_command_line_comes_first(home: Home) -> None:
    found = home.setting("cpus", "slab", "--cpus", "5", LINESMITH_SLAB_CPUS="3")
    assert found == ("5", "command line")


def test_the_tree_that_is_named_counts_instead_of_the_one_around(home: Home, tmp_path: Path) -> None:
    home.tree.write_text("[defaults]\ncpus = 8\n")
    (tmp_path / "named").mkdir()
    (tmp_path / "named" / "linesmith.toml").write_text("[defaults]\ncpus = 4\n")
    found = home.setting("cpus", "patch", "--tree", str(tmp_path / "named"))
    assert found == ("4", f"{tmp_path}/named/linesmith.toml:2")


def test_beyond_the_top_of_a_repository_nothing_is_looked_for(home: Home) -> None:
    home.tree.write_text("[defaults]\ncpus = 8\n")
    (home.here / ".git").mkdir()
    assert home.setting("cpus", "slab") == ("64", "default")


def test_a_setting_works_on_the_command_itself(home: Home) -> None:
    home.user.write_text('[defaults]\nformat = "json"\n')
    assert json.loads(home.run("config").stdout)["schema"] == 1


def test_where_the_cache_is_can_be_set_by_the_user(home: Home, tmp_path: Path) -> None:
    home.user.write_text(f'[defaults]\ncache-dir = "{tmp_path}/big"\n')
    assert home.setting("cache-dir") == (f"{tmp_path}/big", f"{home.user}:2")
    found = home.setting("cache-dir", LINESMITH_CACHE_DIR=f"{tmp_path}/other")
    assert found == (f"{tmp_path}/other", "LINESMITH_CACHE_DIR")


@pytest.mark.parametrize("name", ["output", "dry-run", "resume", "elf", "rules", "save", "write-baseline"])
def test_what_names_or_decides_the_work_cannot_be_set(home: Home, name: str) -> None:
    home.user.write_text(f'[defaults]\n{name} = "x"\n')
    done = home.run("config")
    assert done.returncode == 2
    assert done.stderr.startswith(f"linesmith: {home.user}:2: {name} cannot be set here; what can is build, ")
    assert "LINESMITH_" not in home.run("config", LINESMITH_OUTPUT="x", LINESMITH_ELF="y").stdout.partition("cache")[0]


@pytest.mark.parametrize("name", ["build", "cache-dir", "cflags", "format", "machines", "slabinfo", "tree", "fail-on"])
def test_a_tree_can_set_no_path_no_command_and_no_verdict(home: Home, name: str) -> None:
    home.tree.write_text(f'[defaults]\n{name} = "/etc/passwd"\n')
    done = home.run("config")
    assert done.returncode == 2
    allowed = "cpus, kernel, page-size"
    assert done.stderr == f"linesmith: {home.tree}:2: {name} cannot be set here; what can is {allowed}\n"


def test_a_value_of_a_tree_makes_no_line_of_its_own_and_steers_no_terminal(home: Home) -> None:
    home.tree.write_text('[defaults]\nkernel = "6.1\\ncflags -fplugin=x \\u001b[2J"\n')
    (line,) = [line for line in home.run("config", "slab").stdout.splitlines() if line.startswith("kernel")]
    assert r"  6.1\ncflags -fplugin=x \u001b[2J  " in line


def test_a_tree_file_that_leads_elsewhere_is_not_followed(home: Home, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("[defaults]\ncpus = 8\n")
    home.tree.symlink_to(tmp_path / "secret")
    done = home.run("config")
    assert done.returncode == 2
    assert done.stderr.startswith(f"linesmith: {home.tree} is a symbolic link, which is not followed")


def test_a_tree_file_that_is_a_pipe_is_not_waited_for(home: Home) -> None:
    os.mkfifo(home.tree)
    assert home.run("config").returncode == 2


def test_other_tables_of_a_tree_file_are_not_looked_at(home: Home) -> None:
    home.tree.write_text('[lint]\nignore = ["straddle"]\n\n[defaults]\ncpus = 8\n')
    assert home.setting("cpus", "slab") == ("8", f"{home.tree}:5")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cpus = 4\n", ":1: cpus stands in no table; put it below [defaults]"),
        ("[slabs]\ncpus = 4\n", ":1: there is no command slabs; call tables like commands, or defaults for all"),
        ("[slab]\ncpus = [4]\n", ":2: cpus is no text or number; give one, as on the command line"),
        ("[slab]\nkernel = 6.10\n", ":2: kernel is no whole number; write one, or a text in quotes ('6.10')"),
        ("[slab]\ncpus = true\n", ":2: cpus is no text or number; give one, as on the command line"),
        ("[slab\n", ": is no TOML (Expected ']' at the end of a table declaration (at line 1, column 6)); "),
    ],
    ids=["outside of tables", "no command", "a list", "a release without quotes", "a truth", "no TOML"],
)
def test_what_makes_no_sense_is_told_with_its_place(home: Home, text: str, said: str) -> None:
    home.user.write_text(text)
    assert home.run("config").stderr.startswith(f"linesmith: {home.user}{said}")


@pytest.mark.parametrize("command", ["suggest", "patch", "encapsulate", "report", "lint", "intent", "diff", "doctor"])
def test_a_tree_can_be_set_for_every_command_that_works_on_one(home: Home, command: str) -> None:
    home.user.write_text(f'[defaults]\ntree = "{home.here}"\n')
    assert home.setting("tree", command) == (str(home.here), f"{home.user}:2")
    assert home.setting("tree", command, LINESMITH_TREE="/usr") == ("/usr", "LINESMITH_TREE")


def test_lint_judges_the_revisions_of_the_tree_that_is_set(home: Home, tmp_path: Path) -> None:
    home.user.write_text(f'[lint]\ntree = "{tmp_path}/config"\n')
    done = home.run("lint", "--base-ref", "v1")
    assert f"{tmp_path}/config is in no repository that git reads" in done.stderr


def test_compiler_options_that_are_set_do_not_keep_lint_from_builds(home: Home) -> None:
    home.user.write_text('[defaults]\ncflags = "-O2"\n')
    given = home.run("lint", "--cflags=-O2", "none.elf")
    assert "none.elf" in given.stderr
    (home.here / "none.elf").touch()
    assert "--cflags" in home.run("lint", "--cflags=-O2", "none.elf").stderr
    assert "--cflags" not in home.run("lint", "none.elf").stderr


def test_the_file_of_a_tree_that_is_set_counts_instead_of_the_one_around(home: Home, tmp_path: Path) -> None:
    home.tree.write_text("[defaults]\ncpus = 8\n")
    named = tmp_path / "named"
    named.mkdir()
    (named / "linesmith.toml").write_text("[defaults]\ncpus = 4\n")
    for command in ("suggest", "patch"):
        assert home.setting("cpus", command, LINESMITH_TREE=str(named)) == ("4", f"{named}/linesmith.toml:2")


@pytest.mark.parametrize(
    ("command", "name", "can"),
    [("layout", "tree", "deadline, format"), ("slab", "cflags", "cpus, format, kernel, page-size, slabinfo")],
)
def test_what_a_command_does_not_take_from_a_file_is_refused_in_its_table(
    home: Home, command: str, name: str, can: str
) -> None:
    home.user.write_text(f'[{command}]\n{name} = "x"\n')
    done = home.run("config")
    assert done.stderr == f"linesmith: {home.user}:2: {name} cannot be set here; what can is {can}\n"


def test_a_value_that_an_option_does_not_take_is_told_with_its_place(home: Home) -> None:
    home.user.write_text("[slab]\ncpus = 0\n")
    (home.here / "elf").touch()
    done = home.run("slab", "elf", "file")
    said = f"{home.user}:2: --cpus: 0 is not in the range 1<=x<=65536; give one in that range"
    assert done.stderr == f"linesmith slab: {said}\n"


def test_a_variable_with_such_a_value_is_named(home: Home) -> None:
    (home.here / "elf").touch()
    done = home.run("slab", "elf", "file", LINESMITH_SLAB_CPUS="many")
    said = "LINESMITH_SLAB_CPUS: 'many' is no number; give one"
    assert done.stderr == f"linesmith slab: {said}\n"


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


def test_origins_are_left_out_unless_asked_for(home: Home) -> None:
    assert "default" not in home.run("config").stdout


@pytest.mark.parametrize(
    ("words", "variables", "said"),
    [
        ((), {"LINESMITH_FROMAT": "json"}, "names no option that can be; did you mean LINESMITH_FORMAT?"),
        (("slab",), {"LINESMITH_SLAP_CPUS": "8"}, "names no option that can be; did you mean LINESMITH_SLAB_CPUS?"),
        ((), {"LINESMITH_XYZZY": "x"}, "names no option that can be; `linesmith config` lists the options"),
        ((), {"LINESMITH_CPUS": ""}, "is empty and so sets nothing; give it a value, or unset it"),
        (("lint",), {"LINESMITH_TOP": "9"}, "is set and lint does not take it; those that do are hot, compare"),
    ],
)
def test_a_variable_that_changes_nothing_is_told_of(
    home: Home, words: tuple[str, ...], variables: dict[str, str], said: str
) -> None:
    (name,) = variables
    told = [line for line in home.run("config", *words, **variables).stderr.splitlines() if f": {name} " in line]
    assert [said in line for line in told] == [True]


def test_a_variable_of_one_command_is_nothing_to_tell_of_another(home: Home) -> None:
    told = home.run("config", "layout", LINESMITH_SLAB_CPUS="8", LINESMITH_SOURCE_SCAN="scan").stderr
    assert "LINESMITH_SLAB_CPUS" not in told
    assert "LINESMITH_SOURCE_SCAN" not in told
