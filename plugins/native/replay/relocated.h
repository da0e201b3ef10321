// SPDX-License-Identifier: GPL-2.0-or-later
// Where the accesses of a scene go under a plan.
#pragma once

#include <cstdint>
#include <vector>

#include "plan.h"
#include "scene.h"

namespace linesmith::replay {

class Relocated {
 public:
  // Throws std::invalid_argument where the plan does not fit the scene.
  Relocated(const Scene& scene, const Plan& plan);

  // Calls `access(address, width)` for every access that the event becomes: one, or more where its bytes
  // part.
  template <typename Access>
  void Visit(const Event& event, Access&& access) const {
    for (std::uint32_t index = first_part_[event.site]; index < first_part_[event.site + 1]; ++index) {
      const Part& part = parts_[index];
      if (!part.sharded) {
        access(bases_[event.object] + part.offset, part.width);
        continue;
      }
      const Sharding& sharding = *plan_.sharding;
      const std::uint64_t shards = shards_[event.object] + part.offset;
      const bool all = part.everywhere;
      const std::uint32_t first = all ? 0 : sharding.shard_of_cpu[event.cpu];
      const std::uint32_t last = all ? sharding.ways - 1 : first;
      for (std::uint32_t shard = first; shard <= last; ++shard)
        access(shards + shard * shard_bytes_, part.width);
    }
  }

 private:
  struct Part {
    std::uint64_t offset;
    std::uint32_t width;
    bool sharded;
    bool everywhere;
  };

  void PlaceObjects(const Scene& scene);
  void PlaceShards(const Scene& scene);
  void PlaceSites(const Scene& scene);
  Part ByteOf(const Site& site, std::uint32_t offset) const;
  std::uint32_t MovedTo(std::uint32_t kind, std::uint32_t offset) const;

  const Plan& plan_;
  std::vector<std::uint64_t> bases_;         // by object: new address of its first byte
  std::vector<std::uint64_t> shards_;        // by object: address of its first shard
  std::vector<Part> parts_;                  // of all sites, one after the other
  std::vector<std::uint32_t> first_part_;    // by site, and one behind the last
  std::vector<std::uint64_t> range_offset_;  // of each sharded range in its shard
  std::uint64_t shard_bytes_ = 0;
};

}  // namespace linesmith::replay
