# SPDX-License-Identifier: GPL-2.0-or-later
"""Intents that cannot be meant so: names that are not there, wants that no layout fulfils, builds that break them."""

from __future__ import annotations

import pytest
from hand_made import bits, scalar, struct, table, union

from linesmith.analyzer.intent import intent_in
from linesmith.analyzer.intent.check import contradictions, impossible, unknown_members, unknown_types
from linesmith.analyzer.model import Violation

PIPE = struct("pipe", scalar("head"), scalar("tail"), scalar("ops"), scalar("name", 64, dimensions=(64,)))
ENTRY = '[[type]]\nname = "pipe"\nreason = "r"\n'


def said(found: Violation) -> str:
    return f"{found.file}:{found.line}: {found.type}: {found.member}: {found.message}"


def test_a_type_that_is_not_there_is_told_with_the_nearest_names() -> None:
    (found,) = unknown_types(intent_in('[[type]]\nname = "pype"\nreason = "r"').types, table(PIPE))
    assert said(found) == "linesmith.toml:1: pype: : no struct or union is called so; did you mean pipe?"


def test_a_member_that_is_not_there_is_told_once() -> None:
    text = f'\n{ENTRY}hot = ["tial", "head"]\nwrite-hot = ["tial"]\n'
    (found,) = unknown_members(intent_in(text).types[0], table(PIPE))
    assert said(found) == "linesmith.toml:2: struct pipe: tial: is not there; did you mean tail?"


def test_a_member_of_one_layout_of_several_is_there() -> None:
    other = struct("pipe", scalar("lock"))
    (wanted,) = intent_in(f'{ENTRY}hot = ["lock", "head"]').types
    assert not list(unknown_members(wanted, table(PIPE, other)))


CONTRADICTIONS = {
    'read-mostly = ["ops"]\nwrite-hot = ["ops"]': "ops cannot be read-mostly and write-hot",
    (
        '[[type.group]]\nname = "a"\nmembers = ["head", "tail"]\n[[type.group]]\nname = "b"\nmembers = ["tail", "ops"]'
    ): "tail cannot be in the groups a and b, for neither holds the other",
    (
        'read-mostly = ["ops"]\nwrite-hot = ["head"]\n[[type.group]]\nname = "a"\nmembers = ["head", "ops"]\nlines = 1'
    ): "ops is read-mostly and head write-hot, but group a has both on one line",
    (
        '[[type.group]]\nname = "a"\nmembers = ["head", "tail"]\nlines = 1\n'
        '[[type.isolate]]\nmembers = ["head"]\nfrom = ["tail"]'
    ): "head cannot be isolated from tail and on one line with it in group a",
    (
        '[[type.group]]\nname = "a"\nmembers = ["head", "tail"]\nbytes = 16\n[[type.isolate]]\nmembers = ["tail"]'
    ): "tail cannot be isolated from head and on one line with it in group a",
}


@pytest.mark.parametrize("text", CONTRADICTIONS, ids=range(len(CONTRADICTIONS)))
def test_wants_that_no_layout_fulfils(text: str) -> None:
    (found,) = contradictions(intent_in(f"{ENTRY}{text}"))
    assert found.message == CONTRADICTIONS[text]


@pytest.mark.parametrize(
    "text",
    [
        '[[type.group]]\nname = "a"\nmembers = ["head", "tail"]\n[[type.group]]\nname = "b"\nmembers = ["tail"]',
        '[[type.group]]\nname = "a"\nmembers = ["head", "tail"]\n[[type.isolate]]\nmembers = ["head"]\nfrom = ["tail"]',
        (
            '[[type.group]]\nname = "a"\nmembers = ["head", "tail"]\nlines = 1\n'
            '[[type.isolate]]\nmembers = ["head", "tail"]'
        ),
    ],
    ids=("one group in another", "a group of many lines", "both isolated from the rest"),
)
def test_wants_that_go_together(text: str) -> None:
    assert not list(contradictions(intent_in(f"{ENTRY}{text}")))


def test_two_entries_for_one_configuration_are_to_be_joined() -> None:
    (found,) = contradictions(intent_in(f'{ENTRY}{ENTRY}{ENTRY}configuration = ["CONFIG_SMP"]'))
    assert said(found) == (
        "linesmith.toml:4: pipe: : there is another entry for the same configuration in linesmith.toml:1; join them"
    )


@pytest.mark.parametrize(
    ("members", "limits", "said"),
    [
        (
            '"ops", "name"',
            "lines = 1\nbytes = 71",
            [
                "the members of group a have 72 bytes, 71 are wanted",
                "the members of group a have 72 bytes, 1 line holds 64",
            ],
        ),
        ('"name"', "lines = 1\nbytes = 64", []),  # it fills its line
    ],
)
def test_a_group_of_more_bytes_than_its_lines_hold(members: str, limits: str, said: list[str]) -> None:
    text = f'{ENTRY}[[type.group]]\nname = "a"\nmembers = [{members}]\n{limits}'
    assert [one.message for one in impossible(intent_in(text).types, table(PIPE))] == said


def test_members_that_share_bytes_count_once() -> None:
    both = union("", scalar("first"), scalar("second"))
    flags = struct("pipe", bits("one", 3), bits("two", 5), scalar("tail"))
    text = f'{ENTRY}[[type.group]]\nname = "a"\nmembers = ["one", "two"]\nbytes = 1'
    assert not list(impossible(intent_in(text).types, table(flags, both)))
