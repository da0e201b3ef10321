// SPDX-License-Identifier: GPL-2.0-or-later
// The machine that a trace was recorded on.
#pragma once

#include <array>
#include <cstdint>

#include "coherence.h"

namespace linesmith::replay {

struct Machine {
  std::uint32_t cpus = 1;
  std::array<std::uint8_t, COHERENCE_MAX_CPUS> node_of_cpu{};
  std::uint32_t slices = 0;  // of the whole trace
};

}  // namespace linesmith::replay
