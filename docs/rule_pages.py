# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts the pages of the lint's rules, which the package carries for ``linesmith explain``, into the site."""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel

from linesmith.analyzer.lint.rules.catalogue import RULES, page

FOLDER = "rules"
INDEX = "rules.md"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add one page a rule, and the table of all of them."""
    files.append(File.generated(config, INDEX, content=_index()))
    for rule in RULES:
        place = f"{FOLDER}/{rule.name}.md"
        files.append(File.generated(config, place, content=page(rule.name), inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def _index() -> str:
    rows = (f"| [{rule.name}]({FOLDER}/{rule.name}.md) | {rule.severity} | {rule.summary} |" for rule in RULES)
    return "\n".join(("# Rules", "", "| rule | severity | what it finds |", "|---|---|---|", *rows, ""))
