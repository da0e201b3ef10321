# SPDX-License-Identifier: GPL-2.0-or-later
"""Scenarios as they are written, and what is refused in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixes.scenario import Answer, Kind, Object, Role, ScenarioError, Step, Touch, cases, read_scenario

WHOLE = """
[fix]
commit = "123456789abc"
subject = "x: y"
release = "6.1"
type = "thing"
what = "the lock leaves"

[objects]
count = 3

[[role]]
name = "reading"
cpus = 3
object = "any"
does = [{ in = "look_up", load = "key", often = 0.5 }]

[[role]]
name = "writing"
does = [{ in = "take", atomic = "lock" }]

[[human]]
move = "lock"
after = "name"

[[human]]
member = "key"
align = 64
"""


def scenario(folder: Path, text: str) -> Path:
    path = folder / "thing_lock.toml"
    path.write_text(text)
    return path


def test_a_scenario_says_who_does_what_and_what_was_changed(tmp_path: Path) -> None:
    read = read_scenario(scenario(tmp_path, WHOLE))
    assert (read.name, read.type, read.answer, read.objects.count) == ("thing_lock", "thing", Answer.LAYOUT, 3)
    assert read.roles == (
        Role("reading", (Touch("look_up", Kind.LOAD, "key", 0.5),), 3, Object.ANY),
        Role("writing", (Touch("take", Kind.ATOMIC, "lock"),)),
    )
    assert read.human == (Step(("lock",), after="name"), Step(("key",), align=64))
    assert read.cpus == 3


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("load =", "peek =", "is no access: it needs `in` and one of load, store, atomic"),
        ("move =", "shift =", "it needs `move` or `member`"),
        ("cpus = 3", "cpus = 300", "300 CPUs are more than the 64"),
        ("often = 0.5", "often = 0", "reading does nothing"),
        ("[objects]", "[things]", "there is nothing called things in a scenario"),
        ('what = "the lock leaves"', 'why = "it is hot"', r"\[fix\] has nothing called why"),
        ('object = "any"', 'object = "one"', "Invalid enum value 'one'"),
        ('release = "6.1"', "release = 6.1", "Expected `str`, got `float`"),
    ],
)
def test_what_a_scenario_does_not_know_is_refused(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    with pytest.raises(ScenarioError, match=sentence):
        read_scenario(scenario(tmp_path, WHOLE.replace(old, new)))


def test_every_scenario_can_be_read() -> None:
    found = cases()
    assert "dentry_d_lockref" in [one.name for one in found]
    assert all(one.human for one in found if one.answer is Answer.LAYOUT)
