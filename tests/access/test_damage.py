# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged files with code: an answer or one of our errors, never a crash; sums hold whatever the answer is."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from access.programs import compiled
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linesmith.analyzer.access import accesses_of, read_accesses, summary
from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.errors import LinesmithError

SOURCE = """
struct node first;
static inline void put(struct node *n, int v) { n->count = v; n->total += v; }
long f(struct outer *o, long i) { put(&o->many[i], 3); return o->key + first.count; }
int main(void) { return f(0, 2); }
"""


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("sound")
    return {
        "object": compiled(folder, SOURCE).read_bytes(),
        "program": compiled(folder, SOURCE, "-O2", name="program").read_bytes(),
    }


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(
    kind=st.sampled_from(("object", "program")),
    flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=20),
    share=st.just(1.0) | st.floats(0.1, 1),
)
def test_damage_ends_in_an_answer_or_an_error_of_ours(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    contents: dict[str, bytes],
    kind: str,
    flips: list[tuple[float, int]],
    share: float,
) -> None:
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "a file, no directory"))
    (tmp_path / "a file, no directory").write_text("")
    content = bytearray(contents[kind])
    for place, value in flips:
        content[64 + int(place * (len(content) - 64))] = value
    (tmp_path / "damaged").write_bytes(content[: int(share * len(content))])
    with suppress(LinesmithError):
        accesses = read_accesses(tmp_path / "damaged").accesses
        found = summary(accesses)
        assert sum(count for _, count in found.outcomes) == found.accesses == len(accesses)
        layouts = read_layouts(tmp_path / "damaged").layouts
        for layout in layouts:
            assert accesses_of(layout, layouts, accesses).counts.total <= found.accesses
