# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's result in Markdown, for a forge or a wiki."""

from __future__ import annotations

from linesmith.analyzer.model import Result
from linesmith.analyzer.report.bench import EXPLORED, confirmed_title, counted, told, verdict_rows
from linesmith.analyzer.report.comparison import markdown_table
from linesmith.analyzer.report.facts import merged
from linesmith.analyzer.report.figures import duration
from linesmith.analyzer.report.unchecked import unchecked


def render_markdown(result: Result) -> str:
    """The verdict, the tables, and what was not checked."""
    sections = [
        f"# {result.title}",
        "\n".join(f"- {row}" for row in verdict_rows(result)),
        _titled("Remarks", "\n".join(f"- {remark}" for remark in result.remarks)),
        _titled(confirmed_title(result).capitalize(), markdown_table(result.confirmed)),
        _titled(EXPLORED.capitalize(), markdown_table(result.explored)),
        _titled("Equal layouts compared", markdown_table(result.noise)),
        _titled("Machines", "\n".join(f"- {name}: {value}" for name, value in merged(result.facts))),
        _titled("Not checked", "\n".join(f"- {one}" for one in unchecked(result, told(result)))),
        f"{counted(result)}, {duration(result.seconds)}.",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _titled(title: str, text: str) -> str:
    return f"## {title}\n\n{text}" if text else ""
