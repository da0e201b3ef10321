# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``--version`` prints: the release, and what this installation was built with and has."""

from __future__ import annotations

from collections.abc import Iterator

import click


def show_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Callback of the option: print the facts and end."""
    if wanted and not context.resilient_parsing:
        click.echo("\n".join(facts()))
        context.exit()


def facts() -> Iterator[str]:
    """The release first, then a line for each part."""
    import platform
    from importlib.metadata import version

    from linesmith.analyzer.dwarf import core_versions
    from linesmith.analyzer.store import FORMAT

    compiler, libdw, capstone = core_versions()
    yield f"linesmith, version {version('linesmith')}"
    yield f"native core: {compiler}, libdw {libdw}, capstone {capstone}"
    yield f"source scan: {_source_scan()}"
    yield f"plugin for QEMU: {_qemu_plugin()}"
    yield f"Python: {platform.python_version()} on {platform.machine()}"
    yield f"index format: {FORMAT.decode()}"


def _source_scan() -> str:
    from linesmith.analyzer.errors import ToolMissing
    from linesmith.patches.scan.program import program, release

    try:
        return release(program())
    except ToolMissing:
        return "not part of this installation"


def _qemu_plugin() -> str:
    from linesmith.analyzer.errors import ToolMissing
    from linesmith.plugins.machines.tcg_plugin import plugin_file

    try:
        plugin_file()
    except ToolMissing:
        return "not part of this installation"
    return "there"
