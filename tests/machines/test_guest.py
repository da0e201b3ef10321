# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest is made of: its CPUs and nodes, its kernel's words, its files, and where its kernel lies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from machines.places import Place, shell

from linesmith.analyzer.model import Built, Session, Site, Step
from linesmith.plugins.machines.kvm import kvm_obstacle
from linesmith.plugins.machines.qemu import QemuMachine

ADDRESS_OF_TEXT = shell("grep -m1 ' _stext$' /proc/kallsyms")
# A kernel has some 500 places to lie at, so that one boot in a few hundred meets that of another.
MOST_BOOTS = 3


@pytest.fixture(scope="module")
def session(qemu: Place, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """One boot with four CPUs on two nodes, words of its own, and an overlay."""
    folder = tmp_path_factory.mktemp("guest")
    (folder / "overlay/data").mkdir(parents=True)
    (folder / "overlay/data/file").write_text("from the overlay")
    settings = (*qemu.site.settings, ("words", "one 'two three'"))
    site = replace(qemu.site, cpus=4, nodes=2, settings=settings, overlay=folder / "overlay")
    steps = (
        ADDRESS_OF_TEXT,
        shell("cat /sys/devices/system/node/node1/cpulist"),
        shell("cat /proc/cmdline"),
        Step(("grep", "Cpus_allowed_list", "/proc/self/status"), cpus=(0, 2, 3)),
        Step(("cat", "/data/file")),
        Step(("/usr/bin/git", "--version")),
        shell("dmesg | grep -o 'tsc: .* calibration failed\\|tsc: Unable to calibrate.*'"),
    )
    return replace(qemu, site=site).run(steps, folder / "scratch")


@pytest.mark.real
def test_cpus_and_nodes_are_those_of_the_site(session: Session) -> None:
    facts = dict(session.facts)
    assert (facts["cpus"], facts["nodes"], facts["machine"]) == ("0-3", "0-1", "QEMU, tcg")
    assert session.done[1].output == "2-3\n"
    assert session.done[3].output.split()[1] == "0,2-3"


@pytest.mark.real
def test_words_of_the_site_come_last(session: Session) -> None:
    assert session.done[2].output.endswith(" one two three\n")


@pytest.mark.real
def test_the_overlay_lies_in_the_guest(session: Session) -> None:
    assert session.done[4].output == "from the overlay"


@pytest.mark.real
def test_a_library_comes_with_its_program(session: Session) -> None:
    assert (session.done[5].status, session.done[5].output[:12]) == (0, "git version ")


@pytest.mark.real
def test_a_guest_need_not_measure_its_clock(session: Session) -> None:
    assert "Unable to calibrate" not in session.done[6].output


@pytest.mark.real
def test_the_kernel_lies_elsewhere_after_each_boot_unless_that_is_fixed(
    qemu: Place, session: Session, tmp_path: Path
) -> None:
    def address(place: Place, name: str) -> str:
        return place.run((ADDRESS_OF_TEXT,), tmp_path / name).done[0].output.split()[0]

    fixed = replace(qemu, site=replace(qemu.site, settings=(*qemu.site.settings, ("kaslr", False))))
    linked, seen = "ffffffff81000000", {session.done[0].output.split()[0]}
    for number in range(MOST_BOOTS):
        if len(seen - {linked}) < 2:
            seen.add(address(qemu, f"free{number}"))
    assert len(seen - {linked}) == 2
    assert address(fixed, "fixed") == linked


def test_a_dry_run_needs_no_kernel_yet(tmp_path: Path) -> None:
    built = Built("build", tmp_path, (("kernel", tmp_path / "bzImage"),))
    shown = QemuMachine().commands(Site("qemu", settings=(("words", "slub_debug=-"), ("seed", 7))), built, ())
    assert f"-kernel {tmp_path}/bzImage" in shown[0]
    assert "slub_debug=-" in shown[0]
    assert "-seed 7" in shown[0]
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
        (
            Site("qemu", settings=(("seed", True),)),
            "the setting seed of the machine qemu is True, but has to be a whole",
        ),
        (Site("qemu", cpus=3, nodes=2), "3 CPUs cannot be shared evenly by 2 nodes"),
    ],
)
def test_a_site_that_makes_no_sense_is_an_obstacle(site: Site, why: str) -> None:
    assert (QemuMachine().obstacle(site) or "").startswith(why)


def test_kvm_is_an_obstacle_only_where_it_is_asked_for_and_runs_nothing() -> None:
    assert QemuMachine().obstacle(Site("qemu", settings=(("accelerator", "auto"),))) is None
    assert QemuMachine().obstacle(Site("qemu", settings=(("accelerator", "kvm"),))) == kvm_obstacle()
