# SPDX-License-Identifier: GPL-2.0-or-later
"""Points of the search space as variants: a point becomes a patch, and its build must have the layout promised."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Built, Candidate, Finding, Patch, Point, Variant
from linesmith.patches.confirmed import is_kernel_code
from linesmith.patches.located import locate
from linesmith.patches.message import Confirmation, Excerpt, message
from linesmith.patches.patch import Tree, edited, file_text
from linesmith.patches.prefix import style
from linesmith.patches.verify import Verification, verify
from linesmith.tuner.space.proposals import Proposals
from linesmith.tuner.tuning.patch_files import keep_patch_file
from linesmith.tuner.tuning.run_directory import RunDirectory
from linesmith.tuner.tuning.variants import keep_variant, variants


class Points:
    """The layouts of ``proposals`` as variants of the source tree at ``tree``; ``elf`` is the product with DWARF."""

    def __init__(self, proposals: Proposals, tree: Path, elf: str, run: RunDirectory, excerpt: Excerpt) -> None:
        self.proposals = proposals
        self._tree = tree
        self._elf = elf
        self._run = run
        self._excerpt = excerpt
        self._confirmed: set[str] = set()

    def moves(self, point: Point) -> tuple[str, ...]:
        """What the point does, in words; nothing for one that is not legal."""
        return () if self.proposals.reason(point) else self.proposals.describe(point)

    def variant(self, point: Point) -> Variant:
        """The point as patches of the tree; points that edit it alike are one variant.

        Raises ``NothingToSuggest``, ``EditRefused``, ``DeclarationNotFound`` or ``TreeError``.
        """
        diffs = (edited(candidate, self._tree).diff for candidate in self.proposals.candidates(point))
        patches = tuple(diff.decode("utf-8", "surrogateescape") for diff in diffs)
        journal = self._run.journal
        number = sum(1 for one in variants(journal) if one.patches) + 1
        with journal.transaction():
            return keep_variant(journal, Variant(f"v{number}", patches), self.moves(point))

    def confirm(self, point: Point, variant: Variant, built: Built) -> None:
        """Look whether the build has the layout promised, and write the patch of one that has.

        Raises ``VerificationFailed``.
        """
        if variant.name in self._confirmed:
            return
        layouts = read_layouts(built.product(self._elf)).layouts
        finding = self.proposals.finding(point)
        files = [
            self._file(candidate, finding, diff, built, layouts)
            for candidate, diff in zip(self.proposals.candidates(point), variant.patches, strict=True)
        ]
        keep_patch_file(self._run, variant.name, "\n".join(files))
        self._confirmed.add(variant.name)

    def _file(self, candidate: Candidate, finding: Finding, diff: str, built: Built, layouts: Layouts) -> str:
        before = locate(candidate, self.proposals.layouts)
        seen = verify(candidate, before, locate(candidate, layouts))
        patch = self._patch(candidate, finding, seen, built)
        return file_text(replace(patch, diff=diff)).decode("utf-8", "surrogateescape")

    def _patch(self, candidate: Candidate, finding: Finding, seen: Verification, built: Built) -> Patch:
        declared = edited(candidate, self._tree).declared
        kernel = is_kernel_code(Tree(self._tree), declared)
        title, usual = declared.record.title, style(self._tree, declared.file)
        text = message(
            candidate, finding, title, usual, self._excerpt, Confirmation(seen, built.compiler, is_kernel=kernel)
        )
        return Patch(candidate.type, declared.file, "", text, f"compiled with {built.compiler}", 0, seen.exact)
