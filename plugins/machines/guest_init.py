# SPDX-License-Identifier: GPL-2.0-or-later
"""The first program of the guest: a shell script that prepares the machine, runs what it is for, and reports.

It speaks over a serial port of its own, one line a message. To record, it tells ``release R`` and ``notes HEX``, runs
one command between two markers, and tells ``began`` and ``status N``. Then it answers what the host asks: ``symbols``
gives the names of the kernel's functions, ``go`` powers off.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

HOME = "/linesmith"
FILES = f"{HOME}/files.cpio"
_PATH = f"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:{HOME}/bin"
END_OF_SYMBOLS = "symbols-end"

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
