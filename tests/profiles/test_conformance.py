# SPDX-License-Identifier: GPL-2.0-or-later
"""Every installed source keeps what all of them have to keep."""

from __future__ import annotations

from pathlib import Path

import pytest
from profiles.conformance import breaches
from profiles.example_files import EXAMPLES

from linesmith.plugins.api import ProfileSource
from linesmith.plugins.registry import profile_sources


@pytest.mark.parametrize("source", profile_sources(), ids=lambda source: source.name)
def test_installed_source_conforms(source: ProfileSource, tmp_path: Path) -> None:
    made = {name: make(tmp_path / name) for name, make in EXAMPLES.items()}
    foreign = [example.path for name, example in made.items() if name != source.name]
    assert list(breaches(source, made[source.name], foreign)) == []
