# SPDX-License-Identifier: GPL-2.0-or-later
"""The settings of a site that belong to one plugin, each read as the kind it must have."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from typing import Never

from linesmith.analyzer.errors import PlanError
from linesmith.analyzer.model import Setting, Site


class SiteSettings:
    """What a site says to the machine called ``name``; a setting of the wrong kind raises ``PlanError``."""

    def __init__(self, site: Site, known: Collection[str]) -> None:
        self._name = site.name
        self._values = dict(site.settings)
        self._known = known

    def unknown(self) -> str | None:
        """A sentence without its full stop when a setting is none of those known; ``None`` when all are."""
        for name in self._values:
            if name not in self._known:
                known = ", ".join(sorted(self._known))
                return f"the machine {self._name} knows no setting {name} (it knows {known}); correct the plan"
        return None

    def text(self, name: str, otherwise: str = "") -> str:
        """A text."""
        value = self._values.get(name, otherwise)
        return value if isinstance(value, str) else self._refuse(name, value, "a text")

    def number(self, name: str, otherwise: int | None = None) -> int | None:
        """A whole number that is not negative."""
        value = self._values.get(name, otherwise)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
            return value
        return self._refuse(name, value, "a whole number from 0 on")

    def switch(self, name: str, otherwise: bool) -> bool:
        """True or false."""
        value = self._values.get(name, otherwise)
        return value if isinstance(value, bool) else self._refuse(name, value, "true or false")

    def words(self, name: str) -> tuple[str, ...]:
        """Words: a list of them, or a text that is split as a shell does."""
        value = self._values.get(name, ())
        if isinstance(value, tuple):
            return value
        return tuple(shlex.split(value)) if isinstance(value, str) else self._refuse(name, value, "words")

    def _refuse(self, name: str, value: Setting, kind: str) -> Never:
        raise PlanError(
            f"the setting {name} of the machine {self._name} is {value!r}, but has to be {kind}; correct it"
        )
