# SPDX-License-Identifier: GPL-2.0-or-later
"""All checks in the order in which they are shown; those of places are here.

Places are the cache, the source tree with its configuration, and the running kernel's debug information.
Programs are asked what they are, within a time limit; a library is not loaded for it.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from linesmith.analyzer.base.child import Command, Ended, run
from linesmith.analyzer.base.errors import CacheError, LinesmithError, ToolMissing, install_command
from linesmith.analyzer.base.files import cache_directory, location
from linesmith.analyzer.layouts.dwarf import core_versions
from linesmith.analyzer.model import Check, Readiness
from linesmith.patches.scan import program as source_scan
from linesmith.plugins.machines.system import kvm_obstacle
from linesmith.plugins.machines.user import plugin_file

AREA = "places"
_MIB = 1 << 20
_RELEASE = re.compile(r"^(VERSION|PATCHLEVEL|SUBLEVEL) *= *(\d+) *$", re.MULTILINE)
_MAKEFILE_BYTES = 1 << 16
_BTF = Path("/sys/kernel/btf/vmlinux")
_ANSWER_SECONDS = 10
_NUMBERS = re.compile(r"\d+(?:\.\d+)+")
# How packages are installed here.

_UBUNTU = {"linux-perf": "linux-tools-generic linux-tools-$(uname -r)"}
CHANGE = "change"
PROVE = "prove"
_RECOMPILED = ("patch", "encapsulate", "inline", "bench", "tune", "demo")
# What tools for a machine are called, and the options that compile for it.
_MACHINES = (
    ("arm64", "aarch64-linux-gnu", "`--on arm64` and `--matrix`"),
    ("arm", "arm-linux-gnueabihf", "`--on arm`"),
    ("powerpc", "powerpc64le-linux-gnu", "`--on powerpc`"),
    ("riscv", "riscv64-linux-gnu", "`--on riscv`"),
    ("s390", "s390x-linux-gnu", "`--on s390`"),
)
# Libraries of Python that some commands take and the rest does without.

LIBRARY_AREA = "libraries"


def examine(tree: Path, build: Path | None, tell: Callable[[str], None]) -> tuple[Check, ...]:
    """Try every part; takes some seconds, for perf and KVM are tried by running them, within a time limit.

    ``build`` is the ``O=`` directory of a build of the source ``tree``, where that is another.
    """
    tell("trying perf")
    perf = tuple(sampling_checks())
    tell("trying KVM")
    emulated = tuple(emulation_checks())
    tell("looking for programs")
    return (
        recording_check((*perf, *emulated)),
        *perf,
        *emulated,
        _source_scan(),  # a program of our own
        *map(check, PROGRAMS),
        *library_checks(),
        cache(location()),
        *sources(tree, build or tree),
        running_kernel(os.uname().release),
    )


def cache(folder: Path) -> Check:
    """Whether layouts can be kept, and how much is."""
    purpose = "keeps layouts, access maps and scans, so that later commands start at once"
    remedy = "export LINESMITH_CACHE_DIR=/a/directory/that/can/be/written"
    existing = next(one for one in (folder, *folder.parents) if one.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        return Check(AREA, "cache", Readiness.MISSING, f"{folder} cannot be written", purpose, remedy)
    if folder.is_dir():
        try:
            cache_directory()
        except CacheError as error:
            return Check(AREA, "cache", Readiness.MISSING, str(error), purpose, remedy)
    used = sum(one.lstat().st_size for one in folder.rglob("*") if one.is_file()) if folder.is_dir() else 0
    free = shutil.disk_usage(existing).free
    said = f"{folder}: {used / _MIB:.0f} MiB used, {free / _MIB:.0f} MiB free"
    return Check(AREA, "cache", Readiness.READY, said, purpose)


def sources(tree: Path, build: Path) -> Iterator[Check]:
    """The tree and its configuration."""
    purpose = "source tree for `patch`, `encapsulate`, `inline`, `bench` and `tune` (read-only)"
    workers = ("patch", "encapsulate", "inline", "bench", "tune")
    release = _release(tree)
    if not release:
        remedy = "linesmith doctor --tree DIR"
        said = f"{tree.resolve()} is none"
        yield Check(AREA, "kernel tree", Readiness.MISSING, said, purpose, remedy, worked_on_by=workers)
        return
    yield Check(
        AREA, "kernel tree", Readiness.READY, f"Linux {release} in {tree.resolve()}", purpose, worked_on_by=workers
    )
    config = build / ".config"
    place = f"-C {shlex.quote(str(tree))}" + (f" O={shlex.quote(str(build.absolute()))}" if build != tree else "")
    purpose = "configuration of the build: commands compile with it"
    if config.is_file():
        yield Check(AREA, "configuration", Readiness.READY, str(config.resolve()), purpose)
    else:
        remedy = f"make {place} defconfig"
        yield Check(AREA, "configuration", Readiness.MISSING, f"no {config}", purpose, remedy)


def running_kernel(release: str) -> Check:
    """The vmlinux of the kernel that runs here, as distributions install it."""
    purpose = "the ELF file for profiles of this machine's kernel"
    places = (f"/usr/lib/debug/boot/vmlinux-{release}", f"/usr/lib/debug/lib/modules/{release}/vmlinux")
    whole = next((place for place in places if Path(place).is_file()), None)
    if whole:
        return Check(AREA, "running kernel", Readiness.READY, whole, purpose)
    packaged = "debian" in distribution()[:1] and Path(f"/boot/vmlinuz-{release}").is_file()
    remedy = install(f"linux-image-{release}-dbg") if packaged else ""
    if _BTF.is_file():
        said = f"{_BTF}: layouts only, no source lines and no code"
        return Check(AREA, "running kernel", Readiness.LIMITED, said, purpose, remedy)
    return Check(AREA, "running kernel", Readiness.MISSING, f"no debug information of {release}", purpose, remedy)


def _release(tree: Path) -> str:
    """The release of a kernel tree, as its Makefile begins; empty for anything else."""
    if not (tree / "Kbuild").is_file():
        return ""
    try:
        with (tree / "Makefile").open("rb") as file:
            head = file.read(_MAKEFILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    return ".".join(value for _, value in _RELEASE.findall(head)[:3])


# Whether anything here can record a profile: one way is enough.

RECORDING = "record"
PMU = "PMU"
_DEVICES = Path("/sys/bus/event_source/devices")
# A program may sample itself up to this value. See perf_event_open(2).
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_MOST_PARANOID = 2
_SECONDS = 20
# Which event gives c2c its samples, by the file that tells of it. See perf-c2c(1) and perf-mem(1).
_EVENTS = (
    ("cpu/events/mem-loads", "Intel's load latency event: loads that hit a modified line elsewhere (HITM)"),
    ("cpu_core/events/mem-loads", "Intel's load latency event: loads that hit a modified line elsewhere (HITM)"),
    ("ibs_op", "AMD's IBS: HITM if the processor reports it, otherwise which cache a load came from"),
    ("arm_spe_0", "Arm's SPE: loads that came from another CPU's cache"),
)
_PURPOSE_OF_PMU = "`record --on perf`, `perf c2c record`"
EMULATION_AREA = "emulate"
WHOLE = "QEMU, whole machines"
PROGRAMS_ONLY = "QEMU, programs"
PLUGIN = "plugin for QEMU"
_SYSTEMS = {"x86_64": "qemu-system-x86", "aarch64": "qemu-system-arm"}
# By the name that `record --on` takes: the parts that all have to be there.
_WAYS = {"perf": ("perf", PMU), "qemu-user": (PROGRAMS_ONLY, PLUGIN), "qemu": (WHOLE, PLUGIN, "busybox")}


def sampling_checks() -> Iterator[Check]:
    """perf, and what it can sample here."""
    perf = shutil.which("perf")
    purpose = "records profiles on this machine, reads perf.data"
    if perf is None:
        remedy = install("linux-perf")
        yield Check(RECORDING, "perf", Readiness.MISSING, "not installed", purpose, remedy)
    else:
        yield Check(RECORDING, "perf", Readiness.READY, f"perf {release_in(ended(perf, '--version'))}".strip(), purpose)
    yield _pmu(perf)


def events(devices: Path) -> str:
    """The event of c2c that this machine has; empty where it has none."""
    return next((meaning for path, meaning in _EVENTS if (devices / path).exists()), "")


def _pmu(perf: str | None) -> Check:
    event = events(_DEVICES)
    if not event:
        virtual = False
        with suppress(OSError):
            # The processor says that it is not a real one. See proc_cpuinfo(5).
            virtual = "hypervisor" in Path("/proc/cpuinfo").read_text("ascii", "replace").partition("\n\n")[0]
        place = "a virtual machine" if virtual else "this processor"
        said = f"no event with data addresses ({place}); `record` emulates instead"
        return Check(RECORDING, PMU, Readiness.MISSING, said, _PURPOSE_OF_PMU)
    if perf is None:
        return Check(RECORDING, PMU, Readiness.LIMITED, f"{event}, but no perf", _PURPOSE_OF_PMU)
    done = ended(perf, "c2c", "record", "-o", "/dev/null", "--", "true", seconds=_SECONDS)
    if done and done.status == 0:
        return Check(RECORDING, PMU, Readiness.READY, event, _PURPOSE_OF_PMU)
    forbidden = False
    with suppress(OSError, ValueError):
        forbidden = int(_PARANOID.read_text("ascii")) >= _MOST_PARANOID
    remedy = as_root("sysctl kernel.perf_event_paranoid=1") if forbidden else ""
    return Check(RECORDING, PMU, Readiness.LIMITED, f"{event}, but perf may not use it", _PURPOSE_OF_PMU, remedy)


def emulation_checks() -> Iterator[Check]:
    """What emulates, what follows, what is in the guest, and KVM."""
    machine = os.uname().machine
    whole = Tool(
        EMULATION_AREA,
        WHOLE,
        (f"qemu-system-{machine}",),
        _SYSTEMS.get(machine, "qemu-system"),
        "records and boots kernels (`record --on qemu`, machine `qemu`)",
    )
    programs = Tool(
        EMULATION_AREA, PROGRAMS_ONLY, (f"qemu-{machine}",), "qemu-user", "records programs (`record --on qemu-user`)"
    )
    shell = Tool(EMULATION_AREA, "busybox", ("busybox",), "busybox-static", "userland of guests", (), "--help")
    yield check(whole)
    yield check(programs)
    yield _plugin()
    yield check(shell)
    yield _kvm()


def _plugin() -> Check:
    purpose = "counts the misses of simulated caches: needed by `record` without a PMU"
    try:
        plugin_file()
    except ToolMissing:
        return Check(
            EMULATION_AREA, PLUGIN, Readiness.MISSING, "not in this installation", purpose, "install linesmith again"
        )
    return Check(EMULATION_AREA, PLUGIN, Readiness.READY, "in this installation", purpose)


def _kvm() -> Check:
    purpose = "runs guests of `tune` and `bench` at full speed; `record` emulates in any case"
    try:
        obstacle = kvm_obstacle()
    except ToolMissing as error:
        obstacle = str(error).partition(";")[0]
    if obstacle is None:
        return Check(EMULATION_AREA, "KVM", Readiness.READY, "ran a guest", purpose)
    denied = "may not be used" in obstacle
    remedy = as_root('usermod --append --groups kvm "$USER"') if denied else ""
    return Check(EMULATION_AREA, "KVM", Readiness.MISSING, f"{obstacle}; guests are emulated", purpose, remedy)


def recording_check(others: Sequence[Check]) -> Check:
    """What `record` can do by what the other checks found."""
    ready = {one.name for one in others if one.readiness is Readiness.READY}
    ways = [way for way, parts in _WAYS.items() if ready.issuperset(parts)]
    purpose = "`record`: a profile of what runs here"
    if ways:
        return Check("record", "recorder", Readiness.READY, f"--on {', '.join(ways)}", purpose, "", ("record",))
    remedy = next((one.remedy for one in others if one.name == PROGRAMS_ONLY), "")
    return Check("record", "recorder", Readiness.MISSING, "no recorder works", purpose, remedy, ("record",))


def release_in(done: Ended | None) -> str:
    """The release in what a program has printed; empty where it did not end, or otherwise than well."""
    match = _NUMBERS.search(done.output) if done and done.status == 0 else None
    return match[0] if match else ""


def ended(*argv: str, seconds: int = _ANSWER_SECONDS) -> Ended | None:
    """How the command ended; ``None`` where it cannot be run or did not end in time."""
    try:
        return run(Command(argv, Path("/"), seconds))
    except LinesmithError:
        return None


def distribution() -> tuple[str, ...]:
    """The words of this machine's distribution for itself, the narrowest first. See os-release(5)."""
    try:
        facts = platform.freedesktop_os_release()
    except OSError:
        return ()
    return facts.get("ID", ""), *facts.get("ID_LIKE", "").split()


def install(package: str) -> str:
    """The command that installs what Debian calls ``package``, where that is known."""
    words = distribution()
    if not {"debian", "ubuntu"} & set(words):
        return f"install the package that Debian calls {package}"
    return as_root(f"apt-get install {_UBUNTU.get(package, package) if 'ubuntu' in words else package}")


def as_root(command: str) -> str:
    """A command that only root may run."""
    return command if os.geteuid() == 0 else f"sudo {command}"


@dataclass(frozen=True, slots=True)
class Tool:
    """One of several names is enough; ``package`` is Debian's, ``option`` asks it for its release."""

    area: str
    title: str
    names: tuple[str, ...]
    package: str
    purpose: str
    needed_by: tuple[str, ...] = ()
    option: str = "--version"


PROGRAMS = (
    Tool(CHANGE, "C compiler", ("gcc", "clang", "cc"), "gcc", "confirms patches by compiling them", _RECOMPILED),
    Tool(CHANGE, "coccinelle", ("spatch",), "coccinelle", "edits all users of a member", ("encapsulate", "inline")),
    Tool(CHANGE, "git", ("git",), "git", "reads revisions, and lists who to send patches to"),
    Tool(CHANGE, "clang", ("clang", "clang-19"), "clang", "trees that are configured for clang, and `--matrix`"),
    *(
        Tool(CHANGE, f"compiler for {machine}", (f"{tools}-gcc",), f"gcc-{tools}", f"patches under {options}")
        for machine, tools, options in _MACHINES
    ),
    Tool(PROVE, "make", ("make",), "make", "builds kernels", ()),
    Tool(PROVE, "pahole", ("pahole",), "dwarves", "builds kernels with BTF"),
    Tool(PROVE, "ccache", ("ccache",), "ccache", "builds the second variant of a tree much faster"),
    Tool(PROVE, "virtme-ng", ("vng",), "virtme-ng", "machine `virtme-ng`: boots kernels on this root file system"),
    Tool(PROVE, "ssh", ("ssh",), "openssh-client", "machine `ssh`: boots kernels elsewhere", (), "-V"),
    Tool(PROVE, "stress-ng", ("stress-ng",), "stress-ng", "benchmark `stress-ng`"),
)


def check(program: Tool) -> Check:
    """Where it is, and which release."""
    name = next((name for name in program.names if shutil.which(name)), None)
    if name is None:
        return _made(program, Readiness.MISSING, "not installed", install(program.package))
    done = ended(name, program.option)
    if done is None or done.status < 0:
        return _made(program, Readiness.MISSING, f"{name} is installed but does not run", install(program.package))
    return _made(program, Readiness.READY, f"{name} {release_in(done)}".strip(), "")


def _made(program: Tool, readiness: Readiness, said: str, remedy: str) -> Check:
    return Check(program.area, program.title, readiness, said, program.purpose, remedy, program.needed_by)


def _source_scan() -> Check:
    purpose = "finds code that relies on the order of members (`--tree`)"
    try:
        said = source_scan.release(source_scan.program())
    except ToolMissing:
        remedy = f"{install('libclang-19-dev llvm-19-dev')}, then install linesmith again"
        return Check(CHANGE, "source scan", Readiness.MISSING, "not in this installation", purpose, remedy)
    return Check(CHANGE, "source scan", Readiness.READY, said, purpose)


@dataclass(frozen=True, slots=True)
class Library:
    """A distribution of Python packages, and the extra of ours that brings it."""

    name: str
    extra: str
    purpose: str
    needed_by: tuple[str, ...] = ()


LIBRARIES = (
    Library("drgn", "snapshot", "names the objects in a kernel's memory", ("snapshot",)),
    Library("scikit-optimize", "search", "optimizer `scikit-optimize` of `tune`; `racing` stands in"),
    Library("distributed", "cluster", "`tune --executor dask`: many machines"),
)


def library_checks() -> Iterator[Check]:
    """One for the native core and what it was built with, and one for each library, none of which is loaded for it."""
    compiler, libdw, capstone = core_versions()
    said = f"built with {compiler}, libdw {libdw}, capstone {capstone}"
    yield Check(LIBRARY_AREA, "native core", Readiness.READY, said, "reads layouts and code from ELF files")
    for library in LIBRARIES:
        try:
            readiness, said, remedy = Readiness.READY, version(library.name), ""
        except PackageNotFoundError:
            readiness, said = Readiness.MISSING, "not installed"
            remedy = install_command(library.extra)
        yield Check(LIBRARY_AREA, library.name, readiness, said, library.purpose, remedy, library.needed_by)
