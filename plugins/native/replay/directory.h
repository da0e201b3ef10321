// SPDX-License-Identifier: GPL-2.0-or-later
// The coherence simulation as an owned value, and the machine it simulates.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "coherence.h"

namespace linesmith::replay {

struct Machine {
  std::uint32_t cpus = 1;
  std::array<std::uint8_t, COHERENCE_MAX_CPUS> node_of_cpu{};
  std::uint32_t slices = 0;  // of the whole trace
};

struct DirectoryBounds {
  std::uint32_t line_bytes = 64;
  std::uint64_t lines = 0;
  std::uint64_t pairs = 0;
};

struct DestroyDirectory {
  void operator()(coherence* sim) const { coherence_destroy(sim); }
};
using Directory = std::unique_ptr<coherence, DestroyDirectory>;

// Empty caches that never evict. Throws std::invalid_argument for a line that is not 64, 128 or 256 bytes,
// std::bad_alloc.
Directory MakeDirectory(const Machine& machine, const DirectoryBounds& bounds);

}  // namespace linesmith::replay
