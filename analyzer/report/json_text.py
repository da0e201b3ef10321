# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON that reports print: values of the model as they are, or some of their fields, indented.

What the fields mean, and which there are, the schemas in ``docs`` tell; fields are added, never renamed.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

Json: TypeAlias = dict[str, object]


def json_text(document: object) -> str:
    """``document`` as indented JSON that ends in a newline; it may hold values of the model."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def fields_of(one: object, *names: str) -> Json:
    """These attributes of ``one``, in this order."""
    return {name: getattr(one, name) for name in names}


def known(fields: Json) -> Json:
    """Without the fields that say nothing: ``None``, false, an empty text or list; a zero does."""
    return {name: value for name, value in fields.items() if value not in (None, "", ()) and value is not False}


def hexadecimal(address: int | None) -> str | None:
    """An address as text: numbers of 64 bits are not safe in JSON."""
    return None if address is None else f"{address:#x}"
