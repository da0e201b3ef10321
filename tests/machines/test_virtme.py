# SPDX-License-Identifier: GPL-2.0-or-later
"""How virtme-ng is called, and what is said where it cannot be; a boot takes a kernel with 9p, which is not at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from linesmith.analyzer.errors import ToolMissing
from linesmith.analyzer.model import Built, Site
from linesmith.plugins.machines.virtme import VirtmeMachine


@pytest.fixture
def vng(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only program in PATH."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/vng"
    program.write_text("")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return program


@pytest.mark.usefixtures("vng")
@pytest.mark.parametrize(
    ("site", "why"),
    [
        (Site("virtme-ng"), None),
        (Site("virtme-ng", nodes=2), "the machine virtme-ng has one node here; choose qemu for more"),
        (Site("virtme-ng", overlay=Path("/")), "the machine virtme-ng has this host's files; an overlay is for the"),
        (Site("virtme-ng", settings=(("seed", 1),)), "the machine virtme-ng knows no setting seed"),
    ],
)
def test_obstacles(site: Site, why: str | None) -> None:
    found = VirtmeMachine().obstacle(site)
    assert found is None if why is None else (found or "").startswith(why)


def test_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert VirtmeMachine().obstacle(Site("virtme-ng")) == (
        "vng is not installed; install virtme-ng from the distribution or from PyPI"
    )
    with pytest.raises(ToolMissing, match="vng is not installed; install the package virtme-ng"):
        VirtmeMachine().commands(Site("virtme-ng"), Built("build", tmp_path, (("kernel", tmp_path / "k"),)), ())


def test_the_command_names_kernel_size_and_words(vng: Path, tmp_path: Path) -> None:
    site = Site("virtme-ng", cpus=3, memory=512 << 20, settings=(("kvm", False), ("words", "one two")))
    shown = VirtmeMachine().commands(site, Built("build", tmp_path, (("kernel", tmp_path / "bzImage"),)), ())[0]
    assert shown.startswith(f"{vng} --run {tmp_path}/bzImage ")
    assert "--cpus 3 --memory 512M" in shown
    assert "--disable-kvm" in shown
    assert "--append one --append two" in shown
