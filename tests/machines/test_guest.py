# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest is made of: its CPUs and nodes, its kernel's words, and where its kernel lies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from machines.places import Place, shell

from linesmith.analyzer.model import Built, Site, Step
from linesmith.plugins.machines.kvm import kvm_obstacle
from linesmith.plugins.machines.qemu import QemuMachine

ADDRESS_OF_TEXT = "grep ' _stext$' /proc/kallsyms"


@pytest.mark.real
def test_cpus_nodes_and_words_are_those_of_the_site(qemu: Place, tmp_path: Path) -> None:
    settings = (*qemu.site.settings, ("words", "one 'two three'"))
    site = replace(qemu.site, cpus=4, nodes=2, settings=settings)
    steps = (
        shell("cat /sys/devices/system/node/node1/cpulist"),
        shell("cat /proc/cmdline"),
        Step(("grep", "Cpus_allowed_list", "/proc/self/status"), cpus=(0, 2, 3)),
    )
    session = replace(qemu, site=site).run(steps, tmp_path)
    facts = dict(session.facts)
    assert session.done[0].output == "2-3\n"
    assert session.done[1].output.endswith(" one two three\n")
    assert session.done[2].output.split()[1] == "0,2-3"
    assert (facts["cpus"], facts["nodes"], facts["machine"]) == ("0-3", "0-1", "QEMU, tcg")


@pytest.mark.real
def test_the_kernel_lies_elsewhere_after_each_boot_unless_that_is_fixed(qemu: Place, tmp_path: Path) -> None:
    def boots(place: Place, name: str) -> set[str]:
        return {place.run((shell(ADDRESS_OF_TEXT),), tmp_path / f"{name}{n}").done[0].output for n in (1, 2)}

    fixed = replace(qemu, site=replace(qemu.site, settings=(*qemu.site.settings, ("kaslr", False))))
    assert len(boots(qemu, "free")) == 2
    assert len(boots(fixed, "fixed")) == 1


@pytest.mark.real
def test_the_overlay_lies_in_the_guest(qemu: Place, tmp_path: Path) -> None:
    (tmp_path / "overlay/data").mkdir(parents=True)
    (tmp_path / "overlay/data/file").write_text("from the overlay")
    place = replace(qemu, site=replace(qemu.site, overlay=tmp_path / "overlay"))
    assert place.run((Step(("cat", "/data/file")),), tmp_path / "scratch").done[0].output == "from the overlay"


@pytest.mark.real
def test_a_library_comes_with_its_program(qemu: Place, tmp_path: Path) -> None:
    done = qemu.run((Step(("/usr/bin/git", "--version")),), tmp_path).done[0]
    assert (done.status, done.output[:12]) == (0, "git version ")


def test_a_dry_run_needs_no_kernel_yet(tmp_path: Path) -> None:
    built = Built("build", tmp_path, (("kernel", tmp_path / "bzImage"),))
    shown = QemuMachine().commands(Site("qemu", settings=(("words", "slub_debug=-"),)), built, ())
    assert f"-kernel {tmp_path}/bzImage" in shown[0]
    assert "slub_debug=-" in shown[0]
    assert "nokaslr" not in shown[0]


@pytest.mark.parametrize(
    ("site", "why"),
    [
        (
            Site("qemu", settings=(("colour", "red"),)),
            "the machine qemu knows no setting colour (it knows accelerator,",
        ),
        (
            Site("qemu", settings=(("accelerator", "xen"),)),
            "the accelerator xen is unknown; name one of auto, kvm, tcg",
        ),
        (Site("qemu", settings=(("words", 3),)), "the setting words of the machine qemu is 3, but has to be words"),
        (
            Site("qemu", settings=(("kaslr", "no"),)),
            "the setting kaslr of the machine qemu is 'no', but has to be true",
        ),
        (Site("qemu", settings=(("seed", -1),)), "the setting seed of the machine qemu is -1, but has to be a whole"),
        (Site("qemu", cpus=3, nodes=2), "3 CPUs cannot be shared evenly by 2 nodes"),
    ],
)
def test_a_site_that_makes_no_sense_is_an_obstacle(site: Site, why: str) -> None:
    assert (QemuMachine().obstacle(site) or "").startswith(why)


def test_kvm_is_an_obstacle_only_where_it_is_asked_for_and_runs_nothing() -> None:
    assert QemuMachine().obstacle(Site("qemu", settings=(("accelerator", "auto"),))) is None
    assert QemuMachine().obstacle(Site("qemu", settings=(("accelerator", "kvm"),))) == kvm_obstacle()
