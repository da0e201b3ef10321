# SPDX-License-Identifier: GPL-2.0-or-later
"""Lets readers of the site choose between light and dark.

The theme's script switches two style sheets of a highlighter that this site leaves out, since it comes from another
machine. Without elements of their names the script ends there, before the menu answers to a click.
"""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.pages import Page

_EMPTY_SHEETS = '<style id="hljs-light"></style><style id="hljs-dark"></style>'


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:  # noqa: ARG001 - mkdocs passes them by name
    """Give a page of the site what the script looks for."""
    return _with_sheets(output)


def on_post_template(output: str, template_name: str, config: MkDocsConfig) -> str:  # noqa: ARG001 - by name, too
    """Give the page for addresses that do not exist the same."""
    return _with_sheets(output)


def _with_sheets(output: str) -> str:
    return output.replace("</head>", f"{_EMPTY_SHEETS}</head>", 1)
