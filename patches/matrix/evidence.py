# SPDX-License-Identifier: GPL-2.0-or-later
"""The results of the matrix as paragraphs of a commit message: what was compiled, and what is not as wished."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from math import gcd

from linesmith.analyzer.base.text import WIDTH, listed, paragraph
from linesmith.analyzer.model import CACHE_LINE_BYTES, CompiledRecord, CompiledSize, ConfigurationCheck, Residual

# Holders and complaints that are listed; a reader of a message wants no more.
_SHOWN = 4
_MOST_OF_A_REASON = 160
# Configurations and records that a sentence names.
_NAMED = 3


def paragraphs(checks: Sequence[ConfigurationCheck], title: str) -> str:
    """Tables, with empty lines between them, and what is new with the change or could not be checked.

    ``title`` is the record as C names it. Empty without checks.
    """
    done = [one for one in checks if one.records]
    texts = [(f"{user.unit} fails: {user.failed}", one.title) for one in checks for user in one.users if user.failed]
    texts += [(text, one.title) for one in checks for user in one.users for text in user.warnings]
    texts += [(f"not checked: {one.failed}", one.title) for one in checks if one.failed]
    texts += [(f"left out: {text}", one.title) for one in checks for text in one.left_out]
    blocks = (_table(done, title), _changed(done), "\n".join(_grouped(texts)))
    return "\n\n".join(block for block in blocks if block)


def summary(checks: Sequence[ConfigurationCheck]) -> str:
    """What the paragraphs say in a sentence, for readers who want no table. Empty without checks."""
    done = [one for one in checks if one.records]
    said = [f"checked under {listed([one.title for one in done], _NAMED)}"] if done else []
    users = [user for one in checks for user in one.users]
    if users:
        failed = dict.fromkeys(user.unit for user in users if user.failed)
        warned = dict.fromkeys(user.unit for user in users if user.warnings and not user.failed)
        objects = "1 object that includes" if len(users) == 1 else f"{len(users)} objects that include"
        clean = "" if failed or warned else ", without a new warning"
        said.append(f"compiled {objects} the change{clean}")
        said += [f"{listed(failed, _NAMED)} fail{'s' * (len(failed) == 1)} to compile"] if failed else []
        said += [f"new warnings in {listed(warned, _NAMED)}"] if warned else []
    worse = dict.fromkeys(one.title for one in done if any(pair.after > pair.before for pair in one.residuals))
    said += [f"members meet in more starts under {listed(worse, _NAMED)}"] if worse else []
    sizes = (one.records for one in done)
    changed = dict.fromkeys(record.record for records in sizes for record in records if _bytes(record).count("->"))
    said += [f"sizes change of {listed(changed, _NAMED)}" if changed else "no size changes"] if done else []
    missed = [one.title for one in checks if one.failed]
    said += [f"could not be checked under {listed(missed, _NAMED)}"] if missed else []
    text = "; ".join(said)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def unchecked(checks: Sequence[ConfigurationCheck]) -> str:
    """What of configurations and machines is left unchecked, as a clause."""
    more = sum(not one.failed for one in checks) > 1
    return "configurations and architectures other than those" if more else "other configurations and architectures"


def starts(pair: Residual, record: CompiledRecord) -> str:
    """In how many of its possible starts the pair meets, before and after: ``7/8->3/8``."""
    before, after = _share(pair.before, pair, record.before), _share(pair.after, pair, record.after)
    return f"{before}->{after}"


def _share(share: float, pair: Residual, size: CompiledSize | None) -> str:
    count = pair.line_bytes // gcd(pair.line_bytes, (size.step or size.alignment) if size else 1)
    return f"{round(share * count)}/{count}"


def _bytes(record: CompiledRecord) -> str:
    return _before_after(record, lambda size: str(size.size))


def _slabs(record: CompiledRecord) -> str:
    """Objects in the pages of a slab; empty where nothing is known of its cache."""
    if not any(size and size.objects for size in (record.before, record.after)):
        return ""
    return _before_after(record, lambda size: f"{size.objects}/{size.pages}")


def _before_after(record: CompiledRecord, say: Callable[[CompiledSize], str]) -> str:
    """What is stated of it, twice where it changes."""
    before, after = (say(size) if size else "none" for size in (record.before, record.after))
    return before if before == after else f"{before}->{after}"


def _table(done: Sequence[ConfigurationCheck], title: str) -> str:
    if not done:
        return ""
    pair = next((one.residuals[0] for one in done if one.residuals), None)
    slabs = any(_slabs(one.records[0]) for one in done)
    text = [f"{title} as compiled before->after: bytes, lines of {_line_sizes(done)}"]
    text += ["objects/pages of a slab"] if slabs else []
    text += [f"starts in which {pair.first} and {pair.second} share {pair.line_bytes} bytes"] if pair else []
    heading = ("", "bytes", "lines", "slab" if slabs else "", "starts" if pair else "")
    rows = [heading, *(_row(one, pair) for one in done)]
    return f"{paragraph(f'{_joined(text)}:')}\n\n{_columns(rows)}"


def _line_sizes(checks: Sequence[ConfigurationCheck]) -> str:
    """The size of lines, ``64 bytes``, and which configurations have another."""
    titles: dict[int, list[str]] = {}
    for one in checks:
        titles.setdefault(one.line_bytes, []).append(one.title)
    usual = CACHE_LINE_BYTES if CACHE_LINE_BYTES in titles else min(titles)
    others = "; ".join(f"{size} under {_joined(titles[size])}" for size in sorted(titles) if size != usual)
    return f"{usual} bytes" + (f" ({others})" if others else "")


def _joined(parts: Sequence[str]) -> str:
    return ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1]


def _row(check: ConfigurationCheck, pair: Residual | None) -> tuple[str, ...]:
    own = check.records[0]
    this = pair and (pair.first, pair.second, pair.line_bytes)
    found = next((one for one in check.residuals if (one.first, one.second, one.line_bytes) == this), None)
    met = starts(found, own) if found else ("not there" if pair else "")
    return check.title, _bytes(own), _before_after(own, lambda size: str(size.lines)), _slabs(own), met


def _columns(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    shown = [column for column, width in enumerate(widths) if width]
    lines = (("  " + "  ".join(row[at].ljust(widths[at]) for at in shown)).rstrip() for row in rows)
    return "\n".join(line if len(line) <= WIDTH else paragraph(line, then="      ") for line in lines)


def _changed(done: Sequence[ConfigurationCheck]) -> str:
    """What embeds the record and costs something else than before."""
    rows = [
        (record.record, _bytes(record), _slabs(record), one.title)
        for one in done
        for record in one.records[1:]
        if record.before != record.after
    ]
    if not rows:
        return ""
    more = f"\n  {len(rows) - 2 * _SHOWN} more" if len(rows) > 2 * _SHOWN else ""
    return f"Others that change with it:\n\n{_columns([('', 'bytes', 'slab', ''), *rows[: 2 * _SHOWN]])}{more}"


def _grouped(texts: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each text, with the configurations that it holds for."""
    seen: dict[str, list[str]] = {}
    for text, title in texts:
        seen.setdefault(textwrap.shorten(text, _MOST_OF_A_REASON), []).append(title)
    rows = [paragraph(f"  {text} ({_joined(where)})", then="      ") for text, where in islice(seen.items(), _SHOWN)]
    return rows + ([f"  {len(seen) - _SHOWN} more"] if len(seen) > _SHOWN else [])
