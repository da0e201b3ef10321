# SPDX-License-Identifier: GPL-2.0-or-later
"""Adds a type to the text of an intent file, whose every character stays as it is."""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.analyzer.errors import IntentError
from linesmith.analyzer.intent.reading import intent_in
from linesmith.analyzer.intent.writing import written_type
from linesmith.analyzer.model import Intent, TypeIntent


def added(text: str, wanted: Sequence[TypeIntent], shown: str) -> str:
    """``text``, that of the file called ``shown``, with the types behind it.

    Raises ``IntentError`` where the text is no intent file, or already says what is wanted of one of the types in the
    same configuration.
    """
    known = intent_in(text, shown)
    for one in wanted:
        _refuse_second(known, one, shown)
    ending = "" if not text or text.endswith("\n") else "\n"
    parting = "\n" if text.strip() else ""
    result = f"{text}{ending}{parting}" + "\n".join(map(written_type, wanted))
    _check_added(result, len(known.types) + len(wanted), shown)
    return result


def _check_added(result: str, expected: int, shown: str) -> None:
    """What a file says in inline tables cannot be gone on with behind its end."""
    try:
        count = len(intent_in(result, shown).types)
    except IntentError as error:
        message = f"{shown}: nothing can be added behind its end ({error}); write each type as a table `[[type]]` there"
        raise IntentError(message) from None
    if count != expected:
        raise IntentError(f"{shown}: nothing can be added behind its end; write each type as a table `[[type]]` there")


def _refuse_second(known: Intent, wanted: TypeIntent, shown: str) -> None:
    for one in known.of(wanted.record):
        if set(one.configuration) == set(wanted.configuration):
            line = one.place.rpartition(":")[2]
            raise IntentError(
                f"{shown}:{line}: {wanted.record} has an entry, which stays as it is; write the new one elsewhere with "
                "-o, and take from it by hand what is better"
            )
