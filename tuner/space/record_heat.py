# SPDX-License-Identifier: GPL-2.0-or-later
"""In how many contended samples a member had a part."""

from linesmith.tuner.cost.record_heat import contention

__all__ = ["contention"]
