# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of ``linesmith suggest`` that ask what several copies of a lock would save."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.model import Sharded
from linesmith.analyzer.selection import bare_name

if TYPE_CHECKING:
    from linesmith.analyzer.cli.analysis import Analysis

MEMBERS = click.option(
    "--shard",
    metavar="MEMBER,...",
    help="With --type and --trace: replay copies of these members, a lock and what it protects.",
)
WAYS = click.option(
    "--ways", metavar="N", type=click.IntRange(2, 64), default=2, show_default=True, help="Copies for --shard."
)
BY = click.option(
    "--by",
    type=click.Choice(["cpu", "node"]),
    default="node",
    show_default=True,
    help="What chooses the copy that a CPU uses: its number, or its node's.",
)


def sharded(found: Analysis, type_: str | None, trace: Path | None, shard: str, ways: int, by: str) -> Sharded:
    """The replayed sharding; raises ``click.UsageError`` without a type or a trace, and what the replay raises."""
    from linesmith.tuner.plan import ShardBy, Sharding
    from linesmith.tuner.sharded import simulate_shards

    if type_ is None or trace is None:
        raise click.UsageError("--shard needs --type, the record of the members, and --trace, the accesses to replay")
    members = tuple(name.strip() for name in shard.split(",") if name.strip())
    if not members:
        raise click.UsageError("--shard names no member; give those of a lock and what it protects")
    wanted = bare_name(type_)
    sharding = Sharding(members, ways, ShardBy(by))
    simulation = simulate_shards(wanted, sharding, found.profile.areas, found.reading.layouts, trace)
    return Sharded(wanted, members, ways, by, simulation)
