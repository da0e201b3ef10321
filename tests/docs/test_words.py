# SPDX-License-Identifier: GPL-2.0-or-later
"""Help, messages and pages are in the words of the glossary, without retired words and shapes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest

from linesmith.analyzer.cli import linesmith

CHECKOUT = Path(__file__).resolve().parents[2]
# What nobody writes in documentation of kernels, by what to write instead.
RETIRED = {
    r"\btold\b": "shown, reported, printed",
    r"\btells\b": "shows, means, reports",
    r"\bsaid\b": "stated, printed",
    r"\bcalled so\b": "of that name",
    r"(?<!there )\bis no (?!longer|more)": "is not a",
    r"\bas it (was read|lies)\b": "as parsed, as is",
    r"\bwithout a find\b": "no matches",
    r"\bin doubt\b": "uncertain",
    r"\b(is|are) only read\b": "read-only, not modified",
    r"\bbeside\b": "next to, besides",
    r"\bleave \S+ away\b": "leave out",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\bparted\b|\bparts them\b": "separated",
    r"\bset apart\b": "excluded",
    r"\bcompany\b": "neighbours",
    r"\bgo(es)? by (the )?(addresses|names|what)\b": "match by",
    r"\b(is|are) not there\b": "does not exist",
    r"\bmind that\b": "note that",
    r"\ball the same\b": "anyway",
    r"\bat hand\b": "available",
    r"\bgo(es)? on\b": "continue",
    r"\bstands? (there|in|at|beside|behind|with|on)\b": "is in",
    r"\bin the way\b": "prevents",
    r"\bzero lies (in|out)side\b": "the CI excludes 0",
    r"\bspelt otherwise\b": "written differently",
    r"\bnobody was seen\b": "no access",
}
# What docstrings of public functions are held to as well, where people read them to learn the words of the product.
_COINED = re.compile(
    r"\b(told|said|called so|beside|parted|parts them|set apart|company|in doubt|without a find)\b",
    re.I,
)
_WORDED = ("analyzer/report", "analyzer/cli", "analyzer/line_map", "patches/message")
# Functions whose arguments a user reads while a command works.
_SPEAKERS = frozenset(("remark", "say", "shown", "progress", "steps", "tell_who_waits"))
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`|\]\([^)]*\)|^ {4,}\S.*$", re.MULTILINE | re.DOTALL)
_PAGES = [
    CHECKOUT / "README.md",
    CHECKOUT / "CONTRIBUTING.md",
    *sorted((CHECKOUT / "docs").glob("*.md")),
    *sorted((CHECKOUT / "analyzer" / "lint" / "rules" / "pages").glob("*.md")),
]


def retired(text: str) -> list[str]:
    """What of the text is retired, with its neighbours and what to write instead."""
    words = " ".join(text.split())
    found = ((match, instead) for shape, instead in RETIRED.items() for match in re.finditer(shape, words, re.I))
    return [f"...{words[max(0, one.start() - 30) : one.end() + 30]}... ({instead})" for one, instead in found]


def prose(page: str) -> str:
    """A page without the code that it quotes."""
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


def messages(package: str) -> Iterator[tuple[str, str]]:
    """Texts of the errors that a package raises, each with its place."""
    for home in import_module(f"linesmith.{package}").__path__:
        for file in sorted(Path(home).rglob("*.py")):
            raised = (one for one in ast.walk(ast.parse(file.read_text())) if isinstance(one, ast.Raise) and one.exc)
            for one in raised:
                parts = (part for part in ast.walk(one) if isinstance(part, ast.Constant))
                text = "{}".join(part.value for part in parts if isinstance(part.value, str))
                yield f"{file.relative_to(home)}:{one.lineno}", text


def parsed(folder: str) -> Iterator[tuple[str, ast.Module]]:
    """Each file of a folder of the product."""
    for file in sorted((CHECKOUT / folder).rglob("*.py")):
        yield str(file.relative_to(CHECKOUT)), ast.parse(file.read_text())


def test_the_help_of_every_command_and_option_is_in_current_words() -> None:
    told = helps(linesmith, click.Context(linesmith, info_name="linesmith"))
    assert {place: found for place, text in told if (found := retired(text.replace("\b", "")))} == {}


@pytest.mark.parametrize("package", ["analyzer", "tuner", "plugins", "patches"])
def test_errors_are_in_current_words(package: str) -> None:
    assert {place: found for place, text in messages(package) if (found := retired(text))} == {}


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_pages_are_in_current_words(page: Path) -> None:
    assert retired(prose(page.read_text())) == []


def test_the_newest_part_of_the_changelog_is_in_current_words() -> None:
    newest = re.split(r"^## ", (CHECKOUT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1]
    assert retired(prose(newest)) == []


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


@pytest.mark.parametrize("folder", _WORDED)
def test_docstrings_of_what_others_call_are_in_current_words(folder: str) -> None:
    found = {}
    for file, module in parsed(folder):
        for one in ast.walk(module):
            public = isinstance(one, ast.FunctionDef | ast.ClassDef) and not one.name.startswith("_")
            text = ast.get_docstring(one) if public or isinstance(one, ast.Module) else None  # type: ignore[arg-type]
            if words := _COINED.findall(" ".join((text or "").split())):
                found[f"{file}:{getattr(one, 'lineno', 1)}"] = words
    assert found == {}
