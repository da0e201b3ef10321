# SPDX-License-Identifier: GPL-2.0-or-later
"""The settings of a site that belong to one plugin, each of the kind it must have."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from enum import Enum

from linesmith.analyzer.errors import PlanError
from linesmith.analyzer.model import Setting, Site


class Kind(Enum):
    """What a setting is; the value says it in messages."""

    TEXT = "a text"
    NUMBER = "a whole number from 0 on"
    SWITCH = "true or false"
    WORDS = "words: a text, or a list of texts"

    def allows(self, value: Setting) -> bool:
        """Whether the value is of this kind; TOML's true is no number."""
        if isinstance(value, bool):
            return self is Kind.SWITCH
        if isinstance(value, int):
            return self is Kind.NUMBER and value >= 0
        if isinstance(value, str):
            return self in (Kind.TEXT, Kind.WORDS)
        return self is Kind.WORDS and isinstance(value, tuple)


class SiteSettings:
    """What a site says to a machine that knows settings of these kinds, by name."""

    def __init__(self, site: Site, known: Mapping[str, Kind]) -> None:
        self._name = site.name
        self._values = dict(site.settings)
        self._known = known

    def check(self) -> None:
        """Raises ``PlanError`` for a setting that is not known or of another kind."""
        for name, value in self._values.items():
            if name not in self._known:
                known = ", ".join(sorted(self._known)) or "none"
                raise PlanError(
                    f"the machine {self._name} knows no setting {name} (it knows {known}); correct the plan"
                )
            if not self._known[name].allows(value):
                wanted = f"has to be {self._known[name].value}"
                raise PlanError(
                    f"the setting {name} of the machine {self._name} is {value!r}, but {wanted}; correct it"
                )

    def text(self, name: str, otherwise: str = "") -> str:
        """A setting that is a text, or can be written as one."""
        return str(self._values.get(name, otherwise))

    def number(self, name: str, otherwise: int) -> int:
        """A setting that is a number; what is none stands for ``otherwise``, for ``check`` has refused it."""
        value = self._values.get(name, otherwise)
        return value if isinstance(value, int) else otherwise

    def switch(self, name: str, otherwise: bool) -> bool:
        """A setting that is true or false."""
        return bool(self._values.get(name, otherwise))

    def words(self, name: str) -> tuple[str, ...]:
        """A list of words; a text is split as a shell does."""
        value = self._values.get(name, ())
        return value if isinstance(value, tuple) else tuple(shlex.split(str(value)))

    def has(self, name: str) -> bool:
        """Whether the site sets it at all."""
        return name in self._values
