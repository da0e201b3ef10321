# SPDX-License-Identifier: GPL-2.0-or-later
"""What the guest's file system holds: the commands, the files they name, what those need, and the user's folder.

The first program of the guest is a shell script that prepares the machine, runs what it is for, and reports over a
serial port of its own, one line a message. To record, it says ``release R`` and ``notes HEX``, runs one command between
two markers, and says ``began`` and ``status N``. Then it answers what the host asks: ``symbols`` gives the names of the
kernel's functions, ``go`` powers off. The file system is a cpio archive in the new ASCII form. Source:
Documentation/driver-api/early-userspace/buffer-format.rst.
"""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from linesmith.analyzer.base.elf import is_elf
from linesmith.analyzer.base.errors import OutputError, ToolMissing
from linesmith.plugins.machines.elf_image import absolute, closure, read_elf

HOME = "/linesmith"
FILES = f"{HOME}/files.cpio"
_PATH = f"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:{HOME}/bin"
END_OF_SYMBOLS = "symbols-end"
_PROVIDED = ("/proc", "/sys", "/dev", "/linesmith")
_DEVICES = {"console": (5, 1), "null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9)}
_TRAILER = "TRAILER!!!"

_PREPARE = """\
#!{home}/busybox sh
b={home}/busybox
$b mkdir -p /proc /sys /dev /tmp /run /bin {home}/bin
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
$b mkdir -p /dev/pts /dev/shm
$b mount -t devpts pts /dev/pts
$b mount -t tmpfs tmp /tmp
$b mount -t tmpfs shm /dev/shm
$b --install -s {home}/bin
export PATH={path} HOME=/root TERM=dumb
$b mkdir -p /root {folder}
cd / && $b cpio -idmu <{files} 2>/dev/null
$b rm {files}
[ -e /bin/sh ] || $b ln -s $b /bin/sh
$b ip link set lo up
$b stty -F /dev/{port} raw -echo
exec 3<>/dev/{port}
cd {folder}
"""

_RECORD = """\
echo "release $($b uname -r)" >&3
echo "notes $($b od -An -v -tx1 /sys/kernel/notes | $b tr -d ' \\n')" >&3
echo began >&3
{home}/start
{command} 3>&-
status=$?
{home}/stop
echo "status $status" >&3
while read -r word <&3; do
    case $word in
        symbols) $b grep ' [tTwW] ' /proc/kallsyms >&3; echo {end_of_symbols} >&3 ;;
        *) break ;;
    esac
done
"""

_POWER_OFF = "$b poweroff -f\n"


def recording_init(command: Sequence[str], folder: str, port: str) -> bytes:
    """The script that runs ``command`` in ``folder`` and reports over the serial port ``port`` (``ttyS1``)."""
    record = _RECORD.format(home=HOME, command=shlex.join(command), end_of_symbols=END_OF_SYMBOLS)
    return init_script(record, folder, port)


def init_script(script: str, folder: str, port: str) -> bytes:
    """A script that prepares the machine, runs ``script`` in ``folder`` with the port as descriptor 3, and ends it."""
    prepare = _PREPARE.format(home=HOME, path=_PATH, files=FILES, folder=shlex.quote(folder), port=port)
    return f"{prepare}{script}{_POWER_OFF}".encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """A file, folder, symbolic link (``content`` is its target) or device of the archive.

    ``name`` is the path in the guest without its leading slash; ``mode`` holds the kind and the permissions.
    """

    name: str
    mode: int
    content: bytes = b""
    device: tuple[int, int] = (0, 0)


def folder(name: str) -> ArchiveEntry:
    """A folder that all may enter."""
    return ArchiveEntry(name, stat.S_IFDIR | 0o755)


def file(name: str, content: bytes, permissions: int) -> ArchiveEntry:
    """A plain file."""
    return ArchiveEntry(name, stat.S_IFREG | permissions, content)


def link(name: str, target: str) -> ArchiveEntry:
    """A symbolic link."""
    return ArchiveEntry(name, stat.S_IFLNK | 0o777, target.encode("utf-8", "surrogateescape"))


def archive(entries: Iterable[ArchiveEntry]) -> bytes:
    """The entries as one archive, not compressed: the kernel would unpack it under emulation."""
    parts = [_packed(number, entry) for number, entry in enumerate(entries, 1)]
    return b"".join((*parts, _packed(0, ArchiveEntry(_TRAILER, 0))))


def _packed(number: int, entry: ArchiveEntry) -> bytes:
    name = entry.name.encode("utf-8", "surrogateescape") + b"\0"
    major, minor = entry.device
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    fields = (number, entry.mode, 0, 0, links, 0, len(entry.content), 0, 0, major, minor, len(name), 0)
    header = b"070701" + b"".join(b"%08X" % value for value in fields)
    return _padded(header + name) + _padded(entry.content)


def _padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % 4)


@dataclass(frozen=True, slots=True)
class Contents:
    """What the first file system is made of; ``commands`` have the paths that their programs have in the guest."""

    machine: str
    commands: tuple[tuple[str, ...], ...]
    programs: tuple[Path, ...]
    busybox: Path
    overlay: Path | None


def plan(commands: Sequence[tuple[str, ...]], machine: str, overlay: Path | None, place: Path) -> Contents:
    """What running the commands takes; relative paths in them start from the folder ``place``.

    Raises ``ToolMissing`` when a command is neither a file, nor in the overlay, nor a busybox applet, nor in PATH.
    """
    busybox = _busybox(machine, overlay)
    run: list[tuple[str, ...]] = []
    files: list[Path] = []
    for command in commands:
        program = _program(command[0], busybox, overlay, place)
        run.append((str(program) if program else command[0], *command[1:]))
        files += [] if program is None else [program]
        files += files_in_words(command[1:], place)
    shipped = [one for one in files if not (overlay and (overlay / str(one).lstrip("/")).is_file())]
    needed = dict.fromkeys(path for one in shipped for path in closure(one, machine))
    return Contents(machine, tuple(run), tuple(needed), busybox, overlay)


def initramfs(contents: Contents, own: Mapping[str, bytes], port: str) -> bytes:
    """The archive that boots into ``own["init"]``, which reports over the serial port called ``port``.

    ``own`` are programs of ours by name; they lie next to busybox.
    """
    home = HOME.lstrip("/")
    entries = [
        folder("dev"),
        *(ArchiveEntry(f"dev/{name}", stat.S_IFCHR | 0o666, device=number) for name, number in _DEVICES.items()),
        ArchiveEntry(f"dev/{port}", stat.S_IFCHR | 0o600, device=(4, 64 + int(port.removeprefix("ttyS")))),
        folder("proc"),
        folder("sys"),
        folder(home),
        file(f"{home}/busybox", _content(contents.busybox), 0o755),
        *(file(f"{home}/{name}", content, 0o755) for name, content in own.items()),
        file(FILES.lstrip("/"), archive(user_files(contents)), 0o644),
    ]
    return archive(entries)


def user_files(contents: Contents) -> Iterator[ArchiveEntry]:
    """Files that the commands need, behind those of the overlay, which stand in for them."""
    seen: dict[str, ArchiveEntry] = {}
    for directory, folders, names in os.walk(contents.overlay) if contents.overlay else ():
        for path in (Path(directory) / name for name in sorted((*folders, *names))):
            seen |= {entry.name: entry for entry in _entry(path, str(path.relative_to(contents.overlay or "")))}
    for path in contents.programs:
        # The file at its real place, for loaders look next to it, and a link where it is reached by another name.
        real = path.resolve()
        links = [link(str(path).lstrip("/"), str(real))] if real != path else []
        for entry in (*_entry(real, str(real).lstrip("/")), *links):
            for parent in reversed(PurePosixPath(entry.name).parents[:-1]):
                seen.setdefault(str(parent), folder(str(parent)))
            seen.setdefault(entry.name, entry)
    yield from seen.values()


def _program(name: str, busybox: Path, overlay: Path | None, place: Path) -> Path | None:
    """Path of the command's program in the guest; ``None`` for an applet of busybox."""
    if "/" in name:
        inside = overlay / name.lstrip("/") if overlay else None
        path = place / name
        if not (inside and inside.is_file()) and not os.access(path, os.X_OK | os.R_OK):
            raise ToolMissing(f"{name} cannot be run here; name a program, or put it into an --overlay folder")
        if path.is_dir():
            raise ToolMissing(f"{name} is a folder; name the program to run behind --")
        return Path(name) if inside and inside.is_file() else absolute(path)
    # The list of applets that busybox carries: names in a row, each ended by a zero byte.
    if b"\0" + os.fsencode(name) + b"\0" in _content(busybox):
        return None
    found = shutil.which(name)
    if found is None:
        raise ToolMissing(f"the command {name} is neither in PATH nor an applet of busybox; name its path behind --")
    return Path(found)


def files_in_words(words: Iterable[str], place: Path) -> Iterator[Path]:
    """Files that the words of a command name by a path, also inside a line for the shell."""
    for word in words:
        for part in {word, *_shell_words(word)}:
            path = place / part
            is_file = os.path.isfile(path)  # noqa: PTH113 - Path.is_file() raises where a shell's line is no name
            if "/" in part and is_file and not str(path.resolve()).startswith(_PROVIDED):
                yield absolute(path)


def _shell_words(text: str) -> list[str]:
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        return [part.rpartition("=")[2] for part in lexer]
    except ValueError:
        return text.split()


def _busybox(machine: str, overlay: Path | None) -> Path:
    """A static busybox for ``machine``: the overlay's, else this machine's own."""
    own = [overlay / folder / "busybox" for folder in ("bin", "usr/bin")] if overlay else []
    places = [*own, *map(Path, filter(None, [shutil.which("busybox")])), Path("/bin/busybox")]
    for path in places:
        if path.is_file() and is_elf(path):
            image = read_elf(path)
            if image.machine == machine and image.interpreter is None:
                return path
    if machine == os.uname().machine:
        raise ToolMissing(
            "the guest's shell is a static busybox, which is not installed; install the package busybox-static"
        )
    raise ToolMissing(
        f"the guest's shell is a static busybox for {machine}; put one at bin/busybox into a folder and name that by "
        "--overlay"
    )


def _entry(path: Path, name: str) -> Iterator[ArchiveEntry]:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        yield link(name, str(path.readlink()))
    elif stat.S_ISDIR(mode):
        yield folder(name)
    elif stat.S_ISREG(mode):
        yield file(name, _content(path), stat.S_IMODE(mode))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise OutputError(f"cannot read {path} for the guest: {error.strerror}; make it readable") from error
