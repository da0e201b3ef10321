// SPDX-License-Identifier: GPL-2.0-or-later
// What replaying a scene with a layout gives: misses, and who is to blame for them.
#pragma once

#include <cstdint>
#include <vector>

#include "coherence.h"

namespace linesmith::replay {

// Misses of one place of the objects by the doing of a writer at another; offsets are those of the old
// layout.
struct Pair {
  std::uint32_t victim_kind = 0;
  std::uint32_t victim_offset = 0;
  std::uint32_t writer_kind = 0;
  std::uint32_t writer_offset = 0;
  bool true_sharing = false;
  std::uint64_t local = 0;
  std::uint64_t remote = 0;
};

struct Outcome {
  coherence_events events{};
  std::vector<std::uint64_t>
      windows;              // misses between CPUs in each part of the trace, by equal numbers of slices
  std::vector<Pair> pairs;  // most misses first
};

// Misses for which another CPU is to blame: all but the cold ones.
std::uint64_t SharedMisses(const coherence_events& events);

}  // namespace linesmith::replay
