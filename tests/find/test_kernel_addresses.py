# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the kernel maps memory, and where it describes it."""

from __future__ import annotations

import pytest

from linesmith.analyzer.attribution.kernel_addresses import in_linear_map


@pytest.mark.parametrize(
    ("address", "where"),
    [
        (0xFFFF_8881_C064_2F80, True),  # x86-64, four levels: memory
        (0xFFFF_EA00_0000_1000, False),  # x86-64, four levels: struct page
        (0xFFFF_C900_0000_1000, False),  # x86-64, four levels: vmalloc
        (0xFF11_0000_8836_6D88, True),  # x86-64, five levels: memory
        (0xFFD4_0000_0000_1000, False),  # x86-64, five levels: struct page
        (0xFFFF_0000_4000_1000, True),  # arm64: memory
        (0xFFFF_FC00_0000_1000, False),  # arm64: struct page
        (0xFFFF_FFFF_8200_1000, False),  # x86-64: the kernel's own variables
        (0x5555_5555_6000, False),  # a program
    ],
)
def test_the_linear_map(address: int, where: bool) -> None:
    assert in_linear_map(address) is where
