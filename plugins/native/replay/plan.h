// SPDX-License-Identifier: GPL-2.0-or-later
// Another layout of the objects of a scene. Sizes and offsets are in bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "coherence.h"

namespace linesmith::replay {

// `size` bytes that move together from offset `old_offset` to offset `new_offset` of their object.
struct Piece {
  std::uint32_t old_offset = 0;
  std::uint32_t size = 0;
  std::uint32_t new_offset = 0;
};

// New memory for the objects of a kind: slabs of `slab_bytes` with `per_slab` objects each, `stride` apart,
// the first at `first`.
struct Placement {
  std::uint64_t stride = 0;
  std::uint64_t per_slab = 0;
  std::uint64_t slab_bytes = 0;
  std::uint64_t first = 0;
};

// What happens to the objects of one kind. Pieces do not overlap and are sorted by old offset; bytes behind
// the last move as far as `tail`. Without a placement objects stay where they are.
struct KindPlan {
  std::vector<Piece> pieces;
  std::int64_t tail = 0;
  std::optional<Placement> placement;
  std::uint64_t shift = 0;
};

// Bytes that each object has `ways` times, in shards at multiples of `alignment`; a CPU uses that of its
// number in `shard_of_cpu`. Instructions of `everywhere` (sites of the trace) go through all shards.
struct Sharding {
  struct Range {
    std::uint32_t kind = 0;
    std::uint32_t offset = 0;  // in the old layout
    std::uint32_t size = 0;
  };

  std::vector<Range> ranges;
  std::uint32_t ways = 1;
  std::uint64_t alignment = 64;
  std::array<std::uint32_t, COHERENCE_MAX_CPUS> shard_of_cpu{};
  std::unordered_set<std::uint32_t> everywhere;
};

// `kinds` holds one plan per kind of the scene, in order.
struct Plan {
  std::vector<KindPlan> kinds;
  std::optional<Sharding> sharding;
};

}  // namespace linesmith::replay
