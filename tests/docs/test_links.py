# SPDX-License-Identifier: GPL-2.0-or-later
"""Links between the documents lead somewhere, and every document can be reached from the README."""

from __future__ import annotations

import re
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)")


def linked_from(document: Path) -> set[Path]:
    """Files that the document links to; addresses of other sites left out."""
    links = [link for link in LINK.findall(document.read_text()) if "://" not in link]
    return {(document.parent / link).resolve() for link in links}


def reachable(document: Path, seen: set[Path]) -> set[Path]:
    for target in linked_from(document) - seen:
        seen.add(target)
        if target.suffix == ".md" and target.is_file():
            reachable(target, seen)
    return seen


def test_every_link_has_a_target() -> None:
    documents = [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *sorted((CHECKOUT / "docs").glob("*.md"))]
    missing = {str(target) for document in documents for target in linked_from(document) if not target.exists()}
    assert missing == set()


def test_every_document_is_reached_from_the_readme() -> None:
    found = reachable(CHECKOUT / "README.md", set())
    assert set((CHECKOUT / "docs").glob("*.md")) - found == set()
