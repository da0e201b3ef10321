# SPDX-License-Identifier: GPL-2.0-or-later
"""A page of HTML that stands alone: its style inside, a policy that forbids all else, every value escaped.

The policy is that of Content Security Policy Level 3 (W3C); a style counts by the SHA-256 of its text.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from linesmith.analyzer.base.text import visible, with_cxx_names
from linesmith.analyzer.report.figures import duration
from linesmith.analyzer.report.findings import count_range, places, share_range
from linesmith.analyzer.report.hot_lines import writes_of
from linesmith.analyzer.report.map_words import percent
from linesmith.analyzer.report.prose import short

_PACKAGE = "linesmith.analyzer.report.html"
_FILTERS: tuple[Callable[..., str], ...] = (short, count_range, duration, percent, places, share_range, writes_of)


def render_page(template: str, content: Mapping[str, object], extra_style: str = "") -> str:
    """The page that ``template`` makes of ``content``; ``extra_style`` is for drawings that bring classes of their own.

    Nothing is loaded, run or sent by the page: it has no script, and its policy would stop one.
    """
    environment = Environment(
        loader=FunctionLoader(_resource),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Text from files is made visible before it is escaped; what is markup already is ours.
        finalize=lambda one: (
            one if isinstance(one, Markup) or not isinstance(one, str) else visible(with_cxx_names(one))
        ),
    )
    # Names can be as long as whoever wrote the file likes; texts that people wrote are never cut.
    environment.filters |= {one.__name__: one for one in _FILTERS}
    style = _resource("style.css") + extra_style
    page = environment.get_template(template).render(style=Markup(style), policy=policy(style), **content)  # noqa: S704
    return page + "\n"


def policy(style: str) -> str:
    """What a browser may do with a page that has this style: show it and its inline images, and nothing else."""
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


def _resource(name: str) -> str:
    return (files(_PACKAGE) / "templates" / name).read_text("utf-8")
