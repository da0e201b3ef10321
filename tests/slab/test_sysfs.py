# SPDX-License-Identifier: GPL-2.0-or-later
"""What a kernel says of its caches is read alike from its directory and from the text that grep makes of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from linesmith.analyzer.errors import SlabFactsError
from linesmith.analyzer.model import SlabCache, SlabGeometry
from linesmith.analyzer.slab import measured_caches

DENTRY = {"object_size": "192", "slab_size": "200", "align": "8", "objs_per_slab": "20", "order": "0"}


def _directory(folder: Path, facts: dict[str, str]) -> Path:
    cache = folder / "slab" / "dentry"
    cache.mkdir(parents=True, exist_ok=True)
    for name, value in facts.items():
        (cache / name).write_text(f"{value}\n")
    return folder / "slab"


def _text(folder: Path, facts: dict[str, str]) -> Path:
    text = folder / "slab.txt"
    text.write_text("".join(f"/sys/kernel/slab/dentry/{name}:{value}\n" for name, value in facts.items()))
    return text


@pytest.fixture(params=[_directory, _text])
def told(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[dict[str, str]], SlabCache]:
    def read(changed: dict[str, str]) -> SlabCache:
        return measured_caches(request.param(tmp_path, {**DENTRY, **changed}), 4096)["dentry"]

    return read


def test_each_field_has_its_place(told: Callable[[dict[str, str]], SlabCache]) -> None:
    cache = told({"aliases": "3"})
    assert cache.geometry == SlabGeometry(192, 8, 200, 0, 20, 4096)
    assert (cache.name, cache.aliases) == ("dentry", 3)


def test_words_behind_a_number_do_not_count(told: Callable[[dict[str, str]], SlabCache]) -> None:
    assert told({"aliases": "3 N0=2 N1=1"}).aliases == 3


def test_a_red_zone_puts_an_aligned_word_in_front(told: Callable[[dict[str, str]], SlabCache]) -> None:
    assert told({"red_zone": "1"}).geometry.lead == 8
    assert told({"red_zone": "0"}).geometry.lead == 0


def test_the_word_in_front_takes_a_whole_alignment(told: Callable[[dict[str, str]], SlabCache]) -> None:
    assert told({"red_zone": "1", "align": "64"}).geometry.lead == 64


def test_no_alignment_is_one_of_single_bytes(told: Callable[[dict[str, str]], SlabCache]) -> None:
    assert told({"red_zone": "1", "align": "0"}).geometry.lead == 8


@pytest.mark.parametrize("value", ["many", "12345678901"])
def test_what_is_no_number_of_a_cache_is_left_out(told: Callable[[dict[str, str]], SlabCache], value: str) -> None:
    assert told({"aliases": value}).aliases == 0


def test_ten_digits_are_still_a_number(told: Callable[[dict[str, str]], SlabCache]) -> None:
    assert told({"aliases": "1234567890"}).aliases == 1234567890


def test_a_slab_may_hold_one_object(told: Callable[[dict[str, str]], SlabCache]) -> None:
    assert told({"objs_per_slab": "1"}).geometry.objects == 1


@pytest.mark.parametrize("changed", [{"slab_size": "0"}, {"objs_per_slab": "0"}, {"order": "none"}])
def test_a_cache_without_objects_or_without_an_order_is_none(
    told: Callable[[dict[str, str]], SlabCache], changed: dict[str, str]
) -> None:
    with pytest.raises(SlabFactsError, match="describes no slab cache"):
        told(changed)
