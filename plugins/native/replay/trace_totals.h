// SPDX-License-Identifier: GPL-2.0-or-later
// The misses of all of a trace, which stand behind its end once they were counted.
#pragma once

#include <cstdint>
#include <cstdio>
#include <vector>

#include "coherence.h"

namespace linesmith::replay {

// Misses of everything in a trace, as it was recorded, for one line size.
struct Total {
  std::uint32_t line_bytes = 0;
  coherence_events events{};
  std::uint64_t dropped = 0;  // accesses to lines for which there was no room
};

// The totals behind the end of the trace; none where there are none, or they are damaged. The file is at its
// beginning afterwards.
std::vector<Total> TotalsBehind(std::FILE* trace);

// Writes the totals at the present position.
void WriteTotals(std::FILE* trace, const std::vector<Total>& totals);

}  // namespace linesmith::replay
