// SPDX-License-Identifier: GPL-2.0-or-later
// Runs a scene through the coherence simulation as if its objects had another layout.
#pragma once

#include <cstdint>
#include <vector>

#include "coherence.h"
#include "machine.h"
#include "plan.h"
#include "scene.h"

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

// Throws std::invalid_argument for a plan that does not fit the scene or a line that is not 64, 128 or 256
// bytes, std::bad_alloc.
Outcome Simulate(const Scene& scene, const Machine& machine, const Plan& plan, std::uint32_t line_bytes,
                 std::uint32_t windows);

}  // namespace linesmith::replay
