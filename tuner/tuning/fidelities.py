# SPDX-License-Identifier: GPL-2.0-or-later
"""Which fidelities cost a build: those count against the budget."""

from __future__ import annotations

from linesmith.analyzer.model import Fidelity

COSTLY = (Fidelity.SIMULATION, Fidelity.BENCHMARK)
