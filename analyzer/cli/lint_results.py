# SPDX-License-Identifier: GPL-2.0-or-later
"""What comes of a lint: violations less what is accepted, the forms they are told in, the exit status."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from linesmith.analyzer.base import durable
from linesmith.analyzer.base.visible import visible
from linesmith.analyzer.cli import output
from linesmith.analyzer.cli.lint_options import NEVER, RESULTS, Judging, Telling
from linesmith.analyzer.cli.linting import Wanted
from linesmith.analyzer.errors import BaselineError, OutputError
from linesmith.analyzer.lint.accepted import Acceptance, settled
from linesmith.analyzer.lint.baseline import MOST_BYTES, NO_BASELINE, Baseline, read_baseline, written_baseline
from linesmith.analyzer.model import LintReport, Severity, Suppression
from linesmith.analyzer.report.lint_output import RENDERINGS


def check_destinations(telling: Telling) -> None:
    """Raise ``OutputError`` before the work is done where a result could not be written."""
    written = [telling.output, *(file for _, file in telling.also)]
    output.check_destinations([file for file in written if file], RESULTS)


def settled_report(report: LintReport, names: Collection[str], wanted: Wanted, judging: Judging) -> LintReport:
    """The report less what is accepted; ``names`` are those of the build's records.

    With ``--write-baseline`` everything that is not suppressed is written there and so is accepted. Raises
    ``BaselineError`` or ``OutputError``.
    """
    known = _baseline(judging.baseline)
    acceptance = Acceptance(
        wanted.intent.suppressions, datetime.now(UTC).date(), known, partial(_could_meet, report, names, wanted)
    )
    found = settled(report, acceptance)
    if judging.write_baseline is None:
        return found
    text = written_baseline(
        (*found.violations, *(one.violation for one in found.accepted if one.by == known.name)), known
    )
    _keep(text, judging.write_baseline)
    kept = read_baseline(text.encode(), judging.write_baseline.name)
    return settled(report, replace(acceptance, baseline=kept))


def tell(report: LintReport, telling: Telling) -> None:
    """Write the report in every form that is asked for; raises ``OutputError``."""
    for form, file in ((telling.format_, telling.output), *telling.also):
        text = visible(RENDERINGS[form](report))
        output.deliver(text.encode("utf-8", "backslashreplace"), file, RESULTS)


def status(report: LintReport, fail_on: str) -> int:
    """1 where a violation is as severe as ``fail_on`` says, or where not all was judged, else 0."""
    if fail_on == NEVER:
        return 0
    least = Severity(fail_on).rank
    return int(bool(report.unjudged) or any(one.severity.rank >= least for one in report.violations))


def _baseline(file: Path | None) -> Baseline:
    if file is None:
        return NO_BASELINE
    with file.open("rb") as opened:
        return read_baseline(opened.read(MOST_BYTES + 1), file.name)


def _keep(text: str, file: Path) -> None:
    """Write a baseline, over an older one at most."""
    try:
        if file.exists():
            _baseline(file)
        durable.replace(file, visible(text).encode())
    except BaselineError:
        raise OutputError(f"{file} is there and is no baseline, so it stays as it is; name another file") from None
    except OSError as error:
        raise OutputError(f"cannot write {file}: {error.strerror}; name another file") from None


def _could_meet(report: LintReport, names: Collection[str], wanted: Wanted, one: Suppression) -> bool:
    """Whether the suppression could have met a violation: a rule that it names was applied to a record it names."""
    if wanted.types or not any(fnmatchcase(name, one.record) for name in names):
        return False
    return any(fnmatchcase(rule.name, one.rule) and (report.base or not rule.pair) for rule in wanted.rules)
