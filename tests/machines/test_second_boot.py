# SPDX-License-Identifier: GPL-2.0-or-later
"""A boot that hung is begun once more, and only such a boot."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from linesmith.analyzer.errors import GuestHung, GuestNotBooted, GuestPanicked, LinesmithError
from linesmith.analyzer.model import Session, Site
from linesmith.plugins.machines.second_boot import booted_at_last

SITE = Site("qemu", seconds=600)
SESSION = Session((), "6.1", (("machine", "QEMU, tcg"),))


@dataclass
class Boots:
    """Boots that end in turn as given; what was said meanwhile is in ``told``, the console in ``log``."""

    log: Path
    ends: list[Session | LinesmithError]
    sites: list[Site] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def attempt(self, site: Site) -> Session:
        self.sites.append(site)
        self.log.write_text(f"boot {len(self.sites)}\n")
        end = self.ends.pop(0)
        if isinstance(end, LinesmithError):
            raise end
        return end

    def session(self, site: Site = SITE) -> Session:
        return booted_at_last(self.attempt, site, self.log, self.told.append)


def not_booted(cause: LinesmithError) -> GuestNotBooted:
    error = GuestNotBooted(str(cause))
    error.__cause__ = cause
    return error


HUNG = GuestHung("the guest was still booting after 180 s")


def test_a_guest_that_hung_is_booted_once_more_and_the_session_tells(tmp_path: Path) -> None:
    boots = Boots(tmp_path / "console.log", [not_booted(HUNG), SESSION])
    assert boots.session().facts == (*SESSION.facts, ("boots", "2, as the first hung"))
    kept = tmp_path / "console.log.hung"
    assert boots.told == [f"the guest hung while booting, and is booted once more; what it said is in {kept}"]
    assert (kept.read_text(), boots.log.read_text()) == ("boot 1\n", "boot 2\n")


def test_a_guest_that_hangs_twice_did_not_boot(tmp_path: Path) -> None:
    with pytest.raises(GuestNotBooted, match="still booting after 180 s; it was booted twice"):
        Boots(tmp_path / "console.log", [not_booted(HUNG), not_booted(HUNG)]).session()


def test_a_boot_that_went_well_is_nothing_to_tell(tmp_path: Path) -> None:
    boots = Boots(tmp_path / "console.log", [SESSION])
    assert (boots.session(), boots.told) == (SESSION, [])


@pytest.mark.parametrize("end", [not_booted(GuestPanicked("no root")), GuestHung("running step 1")])
def test_whatever_else_ends_a_boot_is_its_end(end: LinesmithError, tmp_path: Path) -> None:
    boots = Boots(tmp_path / "console.log", [end])
    with pytest.raises(type(end)):
        boots.session()


def test_nothing_is_begun_when_no_time_is_left(tmp_path: Path) -> None:
    boots = Boots(tmp_path / "console.log", [not_booted(HUNG)])
    with pytest.raises(GuestNotBooted):
        boots.session(Site("qemu", seconds=0))
