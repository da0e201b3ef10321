# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON of a run: lossless, as its schema says, and refused when it is something else."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import jsonschema
import pytest
from finished_run import RUN

from linesmith.analyzer.errors import JournalError
from linesmith.analyzer.model import Result
from linesmith.analyzer.report import bench_json


@pytest.mark.parametrize("run", [RUN, Result("empty", "baseline", ())])
def test_a_result_read_back_is_equal(run: Result) -> None:
    assert bench_json.read_json(bench_json.render_json(run), "report.json") == run


def test_a_document_obeys_the_schema() -> None:
    jsonschema.validate(json.loads(bench_json.render_json(RUN)), bench_json.schema())


def test_bytes_that_are_no_text_are_spelled_out() -> None:
    run = replace(RUN, remarks=("cannot read caf\udce9.c", "done"))
    assert bench_json.read_json(bench_json.render_json(run), "r").remarks == ("cannot read caf\\xe9.c", "done")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "run/report.json is no report of linesmith"),
        ('{"schema": 1}', "missing required field `result`"),
        ('{"schema": 1, "result": {"title": 7}}', "Expected `str`, got `int`"),
        ("[" * 100_000, "no report of linesmith"),
        ('{"schema": 2, "result": {}}', "run/report.json has version 2, not 1"),
    ],
)
def test_what_is_no_report_is_refused_with_its_place(text: str, complaint: str) -> None:
    with pytest.raises(JournalError, match=re.escape(complaint)):
        bench_json.read_json(text, "run/report.json")
