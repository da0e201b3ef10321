# SPDX-License-Identifier: GPL-2.0-or-later
"""Every kind of machine that can be had anywhere: this host, a guest with the real kernel, a host behind ssh."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from machines.places import MEMORY, Place
from machines.sshd import Sshd, serving

from linesmith.analyzer.model import Site
from linesmith.plugins.registry import machine


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with serving(tmp_path_factory.mktemp("sshd")) as server:
        yield server


@pytest.fixture(scope="module")
def here() -> Place:
    return Place(machine("here"), Site("here"))


@pytest.fixture(scope="module")
def qemu(kernel_image: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    overlay = tmp_path_factory.mktemp("overlay")
    (overlay / "data").write_text("from the overlay")
    settings = (("accelerator", "tcg"), ("words", ("one", "two three")))
    site = Site("qemu", cpus=2, nodes=2, memory=MEMORY, overlay=overlay, settings=settings)
    return Place(machine("qemu"), site, (("kernel", kernel_image),))


@pytest.fixture(scope="module")
def ssh(sshd: Sshd) -> Place:
    return Place(machine("ssh"), Site("ssh", settings=sshd.settings()))


@pytest.fixture(scope="module", params=["here", pytest.param("qemu", marks=pytest.mark.real), "ssh"])
def place(request: pytest.FixtureRequest) -> Place:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Place)
    return found
