# SPDX-License-Identifier: GPL-2.0-or-later
"""Patches that do not fit the tree, found out before anything is built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from linesmith.analyzer.errors import PatchRefused
from linesmith.analyzer.model import Recipe, Variant
from linesmith.plugins import registry
from linesmith.plugins.api import BUILD, Pool


def refusals(recipe: Recipe, variants: Sequence[Variant], pool: Pool) -> dict[str, str]:
    """By its name why each patch that does not fit is refused, as the workers see the tree.

    Raises ``PatchRefused`` when none fits, ``TreeError``.
    """
    waiting = {one.name: pool.submit(partial(_refusal_by_worker, recipe, one), BUILD) for one in variants}
    answers = {name: future.result() for name, future in waiting.items()}
    refused = {name: reason for name, reason in answers.items() if reason is not None}
    refuse_all(refused, variants)
    return refused


def refusal(recipe: Recipe, variant: Variant) -> str | None:
    """Why the variant's patches do not fit the tree; ``None`` when they do. Raises ``TreeError``."""
    try:
        registry.builder(recipe.builder).commands(recipe, variant)
    except PatchRefused as error:
        return str(error)
    return None


def refuse_all(refused: Mapping[str, str], variants: Sequence[Variant]) -> None:
    """Raise ``PatchRefused`` when no variant is left."""
    if len(refused) == len({one.name for one in variants}):
        reasons = "; ".join(f"{name}: {reason}" for name, reason in refused.items())
        raise PatchRefused(f"no patch can be measured: {reasons}")


def _refusal_by_worker(recipe: Recipe, variant: Variant, warm: Path) -> str | None:  # noqa: ARG001 - what workers get
    return refusal(recipe, variant)
