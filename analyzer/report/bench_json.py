# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's result as JSON, nothing left out; docs/schema-report.md documents it and a test keeps the two equal.

Changes, costs, spreads and floors are shares of the baseline; times are wall seconds.
"""

from __future__ import annotations

import msgspec

from linesmith.analyzer.errors import JournalError
from linesmith.analyzer.model import Result

SCHEMA_VERSION = 1


class ReportDocument(msgspec.Struct, frozen=True):
    """What ``linesmith report --format json`` writes, and ``report.json`` of a run directory."""

    schema: int
    result: Result


class _Version(msgspec.Struct):
    schema: int


def render_json(result: Result) -> str:
    """The result as one indented JSON document that ends in a newline.

    Bytes of a file name or a log that are no UTF-8 are spelled out in hexadecimal: JSON has no other place for them.
    """
    document = ReportDocument(SCHEMA_VERSION, result)
    try:
        encoded = msgspec.json.encode(document)
    except UnicodeEncodeError:
        encoded = msgspec.json.encode(_legible(msgspec.to_builtins(document)))
    return msgspec.json.format(encoded, indent=2).decode() + "\n"


def read_json(text: str, source: str) -> Result:
    """The result that ``render_json`` wrote, equal to it; ``source`` names the file in messages.

    Raises ``JournalError`` for a text that is no such document, or of another version.
    """
    try:
        version = msgspec.json.decode(text, type=_Version).schema
        if version == SCHEMA_VERSION:
            return msgspec.json.decode(text, type=ReportDocument).result
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        raise JournalError(f"{source} is no report of linesmith ({error}); give the report.json of a run") from error
    raise JournalError(
        f"{source} has version {version}, not {SCHEMA_VERSION}; read it with the linesmith that wrote it"
    )


def schema() -> dict[str, object]:
    """The JSON schema of the document."""
    return msgspec.json.schema(ReportDocument)


def _legible(value: object) -> object:
    """The same with the bytes that are no text spelled out."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if isinstance(value, (list, tuple)):
        return [_legible(one) for one in value]
    return {key: _legible(one) for key, one in value.items()} if isinstance(value, dict) else value
