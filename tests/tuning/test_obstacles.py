# SPDX-License-Identifier: GPL-2.0-or-later
"""What is wrong with a plan is said before anything is built."""

from __future__ import annotations

from pathlib import Path

import pytest
from tuning.project import PLAN, plan_of, project, tuned

from linesmith.analyzer.errors import PlanError, ProfileError, ToolMissing
from linesmith.analyzer.model import Step
from linesmith.tuner.tuning.placeholders import stray
from linesmith.tuner.tuning.preview import of_tune

_RECORD = 'command = "{queue} work"'
_OF_THE_PLAN = {
    "elf": (f'elf = "quue"\n{_RECORD}', PlanError, r"elf = 'quue' is no product of the build; name one of queue$"),
    "name": ('command = "{quue} work"', PlanError, r"\[record\]: \{quue\} is no product of the build"),
    "program": ('command = "no-such-program"', ToolMissing, "the program no-such-program is not found"),
    "profile": ('profile = "tree/queue.c"', ProfileError, "is no profile that an installed reader knows"),
}


@pytest.mark.parametrize("wrong", _OF_THE_PLAN)
def test_a_mistake_in_what_is_recorded(tmp_path: Path, wrong: str) -> None:
    record, error, message = _OF_THE_PLAN[wrong]
    folder, text = project(tmp_path), PLAN.replace(_RECORD, record)
    with pytest.raises(error, match=message):
        of_tune(plan_of(folder, text), tmp_path / "run")
    with pytest.raises(error, match=message):
        tuned(tmp_path / "run", folder, text)
    assert not list((tmp_path / "run" / "artifacts").glob("*"))


@pytest.mark.parametrize(
    "word", ["{server}", "--log={server}.log", "${HOME}", "{}", "{ print }", "a{3}", "{print $2}", '{"a": 1}', "{a,b}"]
)
def test_other_braces_are_left_alone(word: str) -> None:
    assert stray([Step(("sh", "-c", word))], ("server", "libq.so")) is None


def test_a_name_that_is_no_product_is_told_with_those_that_are() -> None:
    assert stray([Step(("{sever}", "4"))], ("server", "libq.so")) == (
        "{sever} is no product of the build; name one of {server}, {libq.so}, or put blanks into braces that mean "
        "something else: { sever }"
    )
