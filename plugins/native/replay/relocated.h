// SPDX-License-Identifier: GPL-2.0-or-later
// Where the accesses of a scene go under a plan.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "line_numbers.h"
#include "plan.h"
#include "scene.h"

namespace linesmith::replay {

class Relocated {
 public:
  // Throws std::invalid_argument where the plan does not fit the scene or a line has not 64, 128 or 256
  // bytes.
  Relocated(const Scene& scene, const Plan& plan, std::uint32_t line_bytes);

  std::uint64_t lines() const { return numbers_->lines(); }

  // Calls `access(line, offset, width)` for every line that the event touches: one, or more where its bytes
  // part.
  template <typename Access>
  void Visit(const Event& event, Access&& access) const {
    for (std::uint32_t index = first_part_[event.site]; index < first_part_[event.site + 1]; ++index) {
      const Part& part = parts_[index];
      if (part.sharded) {
        VisitShards(event, part, access);
      } else {
        VisitLines(event.object, spans_[event.object].address + part.offset, part.width, access);
      }
    }
  }

 private:
  struct Part {
    std::uint64_t offset;
    std::uint32_t width;
    bool sharded;
    bool everywhere;
  };

  template <typename Access>
  void VisitShards(const Event& event, const Part& part, Access&& access) const {
    const Sharding& sharding = *plan_.sharding;
    const std::size_t family = objects_ + event.object;
    const std::uint32_t first = part.everywhere ? 0 : sharding.shard_of_cpu[event.cpu];
    const std::uint32_t last = part.everywhere ? sharding.ways - 1 : first;
    for (std::uint32_t shard = first; shard <= last; ++shard) {
      VisitLines(family, spans_[family].address + shard * shard_bytes_ + part.offset, part.width, access);
    }
  }

  template <typename Access>
  void VisitLines(std::size_t span, std::uint64_t address, std::uint32_t width, Access&& access) const {
    const std::uint32_t line_bytes = std::uint32_t{1} << line_shift_;
    while (width > 0) {
      const std::uint32_t offset = static_cast<std::uint32_t>(address & (line_bytes - 1));
      const std::uint32_t here = std::min(width, line_bytes - offset);
      access(numbers_->Of(span, address), offset, here);
      address += here;
      width -= here;
    }
  }

  void PlaceObjects(const Scene& scene);
  void PlaceShards(const Scene& scene);
  void PlaceSites(const Scene& scene);
  void Measure(const Scene& scene);
  Part ByteOf(const Site& site, std::uint32_t offset) const;
  std::uint32_t MovedTo(std::uint32_t kind, std::uint32_t offset) const;

  const Plan& plan_;
  std::uint32_t line_shift_;
  std::size_t objects_;
  std::vector<Span> spans_;                  // by object, then, where there are shards, of the shards of each
  std::vector<Part> parts_;                  // of all sites, one after the other
  std::vector<std::uint32_t> first_part_;    // by site, and one behind the last
  std::vector<std::uint64_t> range_offset_;  // of each sharded range in its shard
  std::uint64_t shard_bytes_ = 0;
  std::optional<LineNumbers> numbers_;
};

}  // namespace linesmith::replay
