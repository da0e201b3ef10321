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

  // A way to the lines of a use is the number of a CPU, or this: through all shards.
  static constexpr std::uint32_t kEverywhere = COHERENCE_MAX_CPUS;
  // Whether they depend on the way.
  bool Sharded(const Use& use) const {
    return plan_.sharding &&
           std::any_of(parts_.begin() + first_part_[use.field], parts_.begin() + first_part_[use.field + 1],
                       [](const Part& part) { return part.sharded; });
  }
  // The way of an instruction (a site of the trace), where there are shards.
  std::uint32_t WayOf(std::uint32_t cpu, std::uint32_t instruction) const {
    return plan_.sharding->everywhere.contains(instruction) ? kEverywhere : cpu;
  }

  // Calls `access(line, offset, width)` for every line that the use touches that way: one, or more where its
  // bytes part.
  template <typename Access>
  void Visit(const Use& use, std::uint32_t way, Access&& access) const {
    for (std::uint32_t index = first_part_[use.field]; index < first_part_[use.field + 1]; ++index) {
      const Part& part = parts_[index];
      if (part.sharded) {
        VisitShards(use.object, way, part, access);
      } else {
        VisitLines(use.object, spans_[use.object].address + part.offset, part.width, access);
      }
    }
  }

 private:
  struct Part {
    std::uint64_t offset;
    std::uint32_t width;
    bool sharded;
  };

  template <typename Access>
  void VisitShards(std::uint32_t object, std::uint32_t way, const Part& part, Access&& access) const {
    const Sharding& sharding = *plan_.sharding;
    const std::size_t family = objects_ + object;
    const bool everywhere = way == kEverywhere;
    const std::uint32_t first = everywhere ? 0 : sharding.shard_of_cpu[way];
    const std::uint32_t last = everywhere ? sharding.ways - 1 : first;
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
  void PlaceFields(const Scene& scene);
  void Measure(const Scene& scene);
  Part ByteOf(std::uint32_t kind, std::uint32_t offset) const;
  std::uint32_t MovedTo(std::uint32_t kind, std::uint32_t offset) const;

  const Plan& plan_;
  std::uint32_t line_shift_;
  std::size_t objects_;
  std::vector<Span> spans_;                  // by object, then, where there are shards, of the shards of each
  std::vector<Part> parts_;                  // of all fields, one after the other
  std::vector<std::uint32_t> first_part_;    // by field, and one behind the last
  std::vector<std::uint64_t> range_offset_;  // of each sharded range in its shard
  std::uint64_t shard_bytes_ = 0;
  std::optional<LineNumbers> numbers_;
};

}  // namespace linesmith::replay
