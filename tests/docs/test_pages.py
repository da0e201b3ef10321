# SPDX-License-Identifier: GPL-2.0-or-later
"""Documents agree with what they speak of and are in the words of the glossary; they build as a site."""

from __future__ import annotations

import ast
import configparser
import io
import pkgutil
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import click
import pytest

from linesmith.analyzer.cli import linesmith
from linesmith.analyzer.lint.rules.catalogue import RULES

CHECKOUT = Path(__file__).resolve().parents[2]
DOCS = CHECKOUT / "docs"
GENERATED = {"linesmith.analyzer._native"}
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)")


def enforced_layers() -> list[set[str]]:
    """Modules by layer, highest first, as ``setup.cfg`` has them."""
    config = configparser.ConfigParser()
    config.read(CHECKOUT / "setup.cfg")
    lines = config["importlinter:contract:layers"]["layers"].strip().splitlines()
    return [set(re.findall(r"linesmith[\w.]+", line)) for line in lines]


def exists(name: str) -> bool:
    """Whether a path such as ``analyzer/layouts/dwarf.py`` is there, wherever the package is installed."""
    package, _, rest = name.partition("/")
    return any((Path(home) / rest).exists() for home in import_module(f"linesmith.{package}").__path__)


def test_the_architecture_names_the_enforced_layers_and_every_module_has_one() -> None:
    table = (DOCS / "architecture.md").read_text().partition("| layer, highest first |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines()[2:]]
    assert [{f"linesmith.{name}" for name in re.findall(r"`([\w.]+)`", row)} for row in rows] == enforced_layers()
    found = pkgutil.iter_modules(import_module("linesmith.analyzer").__path__)
    modules = {f"linesmith.analyzer.{one.name}" for one in found}
    assert modules - set().union(*enforced_layers()) - GENERATED == set()


def test_every_part_named_in_the_stages_exists() -> None:
    text = (DOCS / "architecture.md").read_text()
    named = {name.rstrip("/") for name in re.findall(r"`((?:analyzer|tuner|patches|plugins)/[\w/.]*)`", text)}
    # Sources of the native parts are in a checkout and in no wheel.
    assert {name for name in named if not exists(name) and "/native" not in name} == set()


@pytest.mark.skipif(not (CHECKOUT / "analyzer" / "native").is_dir(), reason="a wheel has no sources of the core")
def test_a_folder_of_the_native_core_includes_only_folders_above_it() -> None:
    native = CHECKOUT / "analyzer" / "native"
    table = (DOCS / "native.md").read_text().partition("## Folders")[2].partition("\n## ")[0]
    order = re.findall(r"^\| `(\w+)` \|", table, re.M)
    assert set(order) == {path.name for path in native.iterdir() if path.is_dir()}
    includes = {
        (folder, used)
        for folder in order
        for file in (native / folder).iterdir()
        for used in re.findall(r'#include "(\w+)/', file.read_text())
    }
    assert {(one, used) for one, used in includes if order.index(used) > order.index(one)} == set()


def linked_from(document: Path) -> set[Path]:
    """Files that the document links to; addresses of other sites left out."""
    links = [link for link in LINK.findall(document.read_text()) if "://" not in link]
    return {(document.parent / link).resolve() for link in links}


def reachable(document: Path, seen: set[Path]) -> set[Path]:
    for target in linked_from(document) - seen:
        seen.add(target)
        if target.suffix == ".md" and target.is_file():
            reachable(target, seen)
    return seen


def test_every_link_has_a_target_and_every_document_is_reached_from_the_readme() -> None:
    documents = [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
    missing = {str(target) for document in documents for target in linked_from(document) if not target.exists()}
    assert missing == set()
    assert set(DOCS.glob("*.md")) - reachable(CHECKOUT / "README.md", set()) == set()


def test_every_promise_of_lint_safety_has_a_test_that_is_there() -> None:
    page = (DOCS / "lint-safety.md").read_text()
    sources = (file.read_text() for file in (CHECKOUT / "tests" / "hostile").glob("test_*.py"))
    tests = {name for source in sources for name in re.findall(r"def (test_\w+)", source)}
    named = set(re.findall(r"`(test_\w+)`", page))
    assert named
    assert named <= tests
    rows = re.findall(r"^\| (.+) \| (.+) \|$", page, re.MULTILINE)
    assert [promise for promise, test in rows if promise != "promise" and "test" not in test] == []


# Help, messages and pages are in the words of the glossary, without retired words and shapes

# What nobody writes in documentation of kernels, by what to write instead.
_RETIRED = Path(__file__).with_name("retired.txt").read_text().splitlines()[1:]
RETIRED = dict(row.split(" => ") for row in _RETIRED)
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`|\]\([^)]*\)|^ {4,}\S.*$", re.MULTILINE | re.DOTALL)
_PAGES = [
    CHECKOUT / "README.md",
    CHECKOUT / "CONTRIBUTING.md",
    *sorted((CHECKOUT / "docs").glob("*.md")),
    *sorted((CHECKOUT / "analyzer" / "lint" / "rules" / "pages").glob("*.md")),
]
# What docstrings and comments are held to as well, where people read them to learn the words of the product.
_COINED = re.compile(
    r"\b(told|said|called so|beside|parted|parts them|set apart|company|in doubt|without a find)\b",
    re.I,
)
_QUOTED = re.compile(r"`+[^`]*`+")
# Functions whose arguments a user reads while a command works.
_SPEAKERS = frozenset(("remark", "say", "shown", "progress", "steps", "tell_who_waits"))


def retired(text: str) -> list[str]:
    """What of the text is retired, with its neighbours and what to write instead."""
    words = " ".join(text.split())
    found = ((match, instead) for shape, instead in RETIRED.items() for match in re.finditer(shape, words, re.I))
    return [f"...{words[max(0, one.start() - 30) : one.end() + 30]}... ({instead})" for one, instead in found]


def prose(page: str) -> str:
    return _CODE.sub(" ", page)


def helps(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """The help of a command, of its options and of the commands below it."""
    yield context.command_path, command.help or ""
    yield from (
        (f"{context.command_path} {one.opts[-1]}", one.help or "")
        for one in command.params
        if isinstance(one, click.Option)
    )
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if (below := command.get_command(context, name)) is not None:
                yield from helps(below, click.Context(below, info_name=name, parent=context))


def parsed(folder: str) -> Iterator[tuple[str, ast.Module]]:
    """Each file of a folder of the product."""
    for file in sorted((CHECKOUT / folder).rglob("*.py")):
        yield str(file.relative_to(CHECKOUT)), ast.parse(file.read_text())


def messages(package: str) -> Iterator[tuple[str, str]]:
    """Texts of the errors that a package raises, each with its place."""
    for home in import_module(f"linesmith.{package}").__path__:
        for file in sorted(Path(home).rglob("*.py")):
            raised = (one for one in ast.walk(ast.parse(file.read_text())) if isinstance(one, ast.Raise) and one.exc)
            for one in raised:
                parts = (part for part in ast.walk(one) if isinstance(part, ast.Constant))
                text = "{}".join(part.value for part in parts if isinstance(part.value, str))
                yield f"{file.relative_to(home)}:{one.lineno}", text


def test_the_help_of_every_command_and_option_is_in_current_words() -> None:
    told = helps(linesmith, click.Context(linesmith, info_name="linesmith"))
    assert {place: found for place, text in told if (found := retired(text.replace("\b", "")))} == {}


@pytest.mark.parametrize("package", ["analyzer", "tuner", "plugins", "patches"])
def test_errors_are_in_current_words(package: str) -> None:
    assert {place: found for place, text in messages(package) if (found := retired(text))} == {}


@pytest.mark.parametrize("package", ["analyzer", "tuner", "plugins", "patches"])
def test_remarks_and_progress_are_in_current_words(package: str) -> None:
    found = {}
    for file, module in parsed(package):
        calls = (one for one in ast.walk(module) if isinstance(one, ast.Call))
        for call in (one for one in calls if getattr(one.func, "id", "") in _SPEAKERS):
            parts = (part.value for part in ast.walk(call) if isinstance(part, ast.Constant))
            if words := retired("{}".join(part for part in parts if isinstance(part, str))):
                found[f"{file}:{call.lineno}"] = words
    assert found == {}


def explanations(source: str) -> Iterator[tuple[int, str]]:
    """The docstrings and comments of a file by their first line, without code and names in backquotes."""
    for one in ast.walk(ast.parse(source)):
        if isinstance(one, ast.FunctionDef | ast.ClassDef | ast.Module):
            yield getattr(one, "lineno", 1), _QUOTED.sub("", ast.get_docstring(one) or "")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("# noqa"):
            yield token.start[0], _QUOTED.sub("", token.string)


@pytest.mark.parametrize("folder", ["analyzer", "tuner", "plugins", "patches"])
def test_docstrings_and_comments_are_in_current_words(folder: str) -> None:
    found = {}
    for file in sorted((CHECKOUT / folder).rglob("*.py")):
        for line, text in explanations(file.read_text()):
            if words := _COINED.findall(" ".join(text.split())):
                found[f"{file.relative_to(CHECKOUT)}:{line}"] = words
    assert found == {}


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_pages_are_in_current_words(page: Path) -> None:
    assert retired(prose(page.read_text())) == []


def test_the_newest_part_of_the_changelog_is_in_current_words() -> None:
    newest = re.split(r"^## ", (CHECKOUT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1]
    assert retired(prose(newest)) == []


# The documentation builds as a site, and the site asks no other machine for anything

pytestmark = pytest.mark.xdist_group("site")
FETCHED = {"link": "href", "script": "src", "img": "src", "iframe": "src"}


class Fetched(HTMLParser):
    """Addresses that a browser loads by itself when it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value for name, value in attrs if name == FETCHED.get(tag) and value]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    configuration = CHECKOUT / ".mkdocs.yml"
    if not configuration.is_file():
        pytest.skip("there is no checkout, so there is no configuration of the site")
    command = (sys.executable, "-m", "mkdocs", "build", "--config-file", str(configuration), "--site-dir", str(place))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, re.findall(r"^WARNING.*", done.stderr, re.MULTILINE)) == (0, [])
    return place


def test_every_document_and_every_rule_has_a_page_and_nothing_else_is_there(site: Path) -> None:
    documents = {path.stem for path in (CHECKOUT / "docs").glob("*.md")}
    assert documents - {path.stem for path in site.glob("*.html")} == set()
    assert list(site.rglob("*.py")) == []
    assert {path.stem for path in (site / "rules").glob("*.html")} == {rule.name for rule in RULES}
    rows = re.findall(r"<td><a[^>]*>([\w-]+)</a></td>\s*<td>(.*?)</td>", (site / "rules.html").read_text())
    assert rows == [(rule.name, rule.severity) for rule in RULES]


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    parser = Fetched()
    for page in site.rglob("*.html"):
        parser.feed(page.read_text())
    assert [one for one in parser.addresses if "://" in one or one.startswith("//")] == []
