# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run leaves for people: reports in its folder, the best patch with its evidence, and what is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from linesmith.analyzer.base import durable
from linesmith.analyzer.base.visible import visible
from linesmith.analyzer.cli.options import write_page, write_shown
from linesmith.analyzer.errors import OutputError
from linesmith.analyzer.model import Result
from linesmith.analyzer.report.bench import render_text
from linesmith.analyzer.report.bench_json import render_json
from linesmith.analyzer.report.bench_markdown import render_markdown
from linesmith.analyzer.report.evidence import evidence
from linesmith.analyzer.report.matrix import render_json as render_matrix
from linesmith.analyzer.report.prose import fitted
from linesmith.analyzer.report.two_runs import render_two_runs
from linesmith.patches.message import with_evidence

BEST = "best.patch"
_END_OF_MESSAGE = "\n---\n"
_RENDERED: dict[str, Callable[[Result], str]] = {
    "text": render_text,
    "markdown": render_markdown,
    "json": render_json,
    "matrix": render_matrix,
}


def deliver(result: Result, folder: Path, format_: str, output: Path | None) -> None:
    """Keep the result in the run directory ``folder``, and write it where the user wants it; raises ``OutputError``."""
    keep(result, folder)
    show(result, format_, output)


def keep(result: Result, folder: Path) -> None:
    """Write the reports into the run directory ``folder``, and into its patches what was measured of each.

    Raises ``OutputError``.
    """
    for name, text in _files(result, folder):
        try:
            durable.replace(folder / name, text.encode("utf-8", "surrogateescape"))
        except OSError as error:
            raise OutputError(f"cannot write {folder / name}: {error.strerror}; make room there") from error


def show(result: Result, format_: str, output: Path | None) -> None:
    """Write the result in ``format_`` to ``output`` or the terminal."""
    write_shown(_RENDERED[format_](result), format_, output)


def show_page(result: Result, folder: Path, destination: Path) -> None:
    """Write the page of the run in ``folder``; raises ``OutputError`` and ``JournalError``."""
    from linesmith.analyzer.cli.run_files import files_of
    from linesmith.analyzer.report.html.run_page import render_run

    write_page(render_run(result, files_of(folder, result)), destination)


def compare(result: Result, other: Result, output: Path | None) -> None:
    """Write what two runs say of the same variants to ``output`` or the terminal."""
    write_shown(render_two_runs(result, other), "text", output)


def _files(result: Result, folder: Path) -> Iterator[tuple[str, str]]:
    yield "report.txt", visible(fitted(render_text(result)))
    yield "report.json", visible(render_json(result))
    yield "matrix.json", visible(render_matrix(result))
    for variant, place in result.patches:
        text = (folder / place).read_bytes().decode("utf-8", "surrogateescape")
        measured = visible(evidence(result, variant))
        patch = _measured(text, measured)
        if measured:
            yield str(Path(place).with_suffix(".evidence.txt")), measured
        if patch != text:
            yield place, patch
        if variant == result.best:
            yield BEST, patch


def _measured(patch: str, text: str) -> str:
    """The patch with what was measured in its message, where it has one of ours."""
    message, end, diff = patch.partition(_END_OF_MESSAGE)
    return with_evidence(f"{message}\n", text).removesuffix("\n") + end + diff if end and text else patch
