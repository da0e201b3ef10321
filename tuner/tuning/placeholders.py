# SPDX-License-Identifier: GPL-2.0-or-later
"""``{name}`` in the words of a command, which stands for a product of the build."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from linesmith.analyzer.model import Step

# Behind a `$` it is a variable of a shell, and a number alone says how often in a regular expression.
_NAMED = re.compile(r"(?<!\$)\{(?!\d+\})([\w.+-]+)\}")


def stray(steps: Iterable[Step], products: Collection[str]) -> str | None:
    """What is wrong with the first ``{name}`` that is no product, a sentence without its full stop; else ``None``."""
    words = (word for step in steps for word in step.command)
    unknown = next((name for word in words for name in _NAMED.findall(word) if name not in products), None)
    if unknown is None:
        return None
    known = ", ".join(f"{{{name}}}" for name in products)
    return (
        f"{{{unknown}}} is no product of the build; name one of {known}, or put blanks into braces that mean "
        f"something else: {{ {unknown} }}"
    )
