# SPDX-License-Identifier: GPL-2.0-or-later
"""What makes a placebo of a kernel: padding near the beginning of its code and data, behind which all else has moved.

One small object is compiled again, so a placebo costs little more than a link; the layout of every record is as before.
"""

from __future__ import annotations

from collections.abc import Mapping

# It is in every kernel, and among the first in the order of linking (init/Makefile).
_FILE = "init/init_task.c"
# Bytes: smaller steps would be lost in the alignment of functions; 255 places in a page occur before one comes again.
_STEP = 16
_PLACES = 255
# Neighbouring salts shall differ in the place in the line and in the line.
_STRIDE = 37
_SOURCE = """
static void __attribute__((__used__, __noinline__)) linesmith_code(void)
{{
	__asm__ volatile(".skip {size}, 0x90");
}}
static char linesmith_data[{size}] __attribute__((__used__, __aligned__({step}))) = {{1}};
static char linesmith_zeroed[{size}] __attribute__((__used__, __aligned__({step})));
"""


def padding(salt: int) -> Mapping[str, str]:
    """The text that a salt appends to a file of the kernel's tree, by its path; none for salt 0."""
    if not salt:
        return {}
    return {_FILE: _SOURCE.format(size=_STEP * (salt * _STRIDE % _PLACES + 1), step=_STEP)}
