# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith slab``: how objects of a type lie in the pages of their slab cache, and what they cost there."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.cli import options, whatif


class PowerOfTwo(click.IntRange):
    """An alignment in bytes: 0 for none, or a power of two, the only ones that kmem_cache_create() can keep."""

    def convert(self, value: int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number in range; fails on any other."""
        number = super().convert(value, param, ctx)
        if number & (number - 1):
            self.fail(f"{number} is no power of two.", param, ctx)
        return number


@click.command()
@options.elf
@click.argument("types", metavar="TYPE...", nargs=-1, required=True)
@options.cpus
@options.page_size
@options.kernel
@options.slabinfo
@click.option("--cache", metavar="NAME", help="The slab cache that TYPE comes from.")
@click.option("--align", metavar="BYTES", type=PowerOfTwo(0, 4096), default=0, help="Alignment the cache asks for.")
@click.option("--hwcache-align", is_flag=True, help="The cache is made with SLAB_HWCACHE_ALIGN.")
@click.option("--by-rcu", is_flag=True, help="The cache is made with SLAB_TYPESAFE_BY_RCU.")
@click.option("--constructor", is_flag=True, help="The cache has a constructor.")
@click.option("--kmalloc", is_flag=True, help="TYPE comes from kmalloc().")
@whatif.change
@options.format_
@options.output
def command(
    elf: Path,
    types: tuple[str, ...],
    cpus: int,
    page_size: str,
    kernel: str | None,
    slabinfo: Path | None,
    cache: str | None,
    align: int,
    hwcache_align: bool,
    by_rcu: bool,
    constructor: bool,
    kmalloc: bool,
    change: whatif.Change,
    format_: str,
    output: Path | None,
) -> None:
    """Show stride, slab order, phases and memory of objects of TYPE, also inside the objects that hold it by value.

    What nothing says of the cache is computed by the rules of SLUB; each line tells how it is known. --pull-in,
    --push-out and --shrink ask what another structure of TYPE would cost.
    """
    from linesmith.analyzer.cli.colour import text_columns
    from linesmith.analyzer.cli.kernels import Running
    from linesmith.analyzer.cli.slabs import Question, slabs_of
    from linesmith.analyzer.report import slab, slab_json
    from linesmith.analyzer.slab import Asked

    asked = Asked(cache, align, hwcache_align, by_rcu, constructor, kmalloc)
    if kmalloc and asked != Asked(kmalloc=True):
        raise click.UsageError(
            "--kmalloc takes the general cache as it is; give it without --cache, --align, --hwcache-align, "
            "--by-rcu and --constructor"
        )
    running = Running(cpus, options.PAGES[page_size], kernel, slabinfo)
    if change.asked:
        options.write(whatif.answer(elf, types, change, asked, running, format_, text_columns(output)), output)
        return
    question = Question(types, asked, running)
    found = slabs_of(elf, question)
    render = slab_json.render_json if format_ == "json" else slab.render_text
    options.write_shown(render(found), format_, output)
