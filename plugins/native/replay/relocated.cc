// SPDX-License-Identifier: GPL-2.0-or-later
#include "relocated.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "line_totals.h"

namespace linesmith::replay {
namespace {

// Where objects go that leave their place: no traced program has memory there, and no two kinds meet.
constexpr std::uint64_t kNewMemory = std::uint64_t{1} << 60;
constexpr std::uint64_t kKindMemory = std::uint64_t{1} << 44;
constexpr std::uint64_t kShardMemory = std::uint64_t{1} << 62;
constexpr std::uint32_t kMostKinds = 1 << 16;

void CheckPlan(bool holds, const char* complaint) {
  if (!holds) throw std::invalid_argument(complaint);
}

std::uint64_t RoundUp(std::uint64_t value, std::uint64_t step) { return (value + step - 1) / step * step; }

bool Fits(const Placement& placement) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  return placement.stride > 0 && placement.per_slab > 0 && placement.slab_bytes > 0 &&
         placement.stride < kMost && placement.per_slab < kMost && placement.slab_bytes < kMost &&
         placement.first < kMost;
}

// Moved objects have memory of their own, where those that stay cannot be in the way.
std::uint64_t AddressOf(const Object& object, const KindPlan& plan) {
  const std::uint64_t memory = kNewMemory + object.kind * kKindMemory + plan.shift;
  if (!plan.placement) return plan.shift == 0 ? object.address : memory + object.address % (kKindMemory / 2);
  const Placement& slab = *plan.placement;
  const std::uint64_t place =
      object.rank / slab.per_slab * slab.slab_bytes + object.rank % slab.per_slab * slab.stride;
  return memory + slab.first + place;
}

void CheckPieces(const std::vector<Piece>& pieces) {
  std::uint64_t end = 0;
  for (const Piece& piece : pieces) {
    CheckPlan(piece.old_offset >= end, "pieces of an object overlap or are not in order");
    end = std::uint64_t{piece.old_offset} + piece.size;
  }
}

}  // namespace

Relocated::Relocated(const Scene& scene, const Plan& plan, std::uint32_t line_bytes)
    : plan_(plan), line_shift_(LineShift(line_bytes)), objects_(scene.objects().objects().size()) {
  CheckPlan(plan.kinds.size() == scene.objects().kinds() && plan.kinds.size() < kMostKinds,
            "the plan has not one entry for each kind of object");
  for (const KindPlan& kind : plan.kinds) {
    CheckPieces(kind.pieces);
    CheckPlan(!kind.placement || Fits(*kind.placement), "a placement is empty or too large");
    CheckPlan(kind.shift < ObjectMap::kLongestLine, "objects are shifted within a line only");
  }
  PlaceObjects(scene);
  if (plan.sharding) PlaceShards(scene);
  PlaceFields(scene);
  Measure(scene);
  numbers_.emplace(spans_, line_shift_);
}

void Relocated::PlaceObjects(const Scene& scene) {
  for (const Object& object : scene.objects().objects()) {
    const KindPlan* plan = object.kind < plan_.kinds.size() ? &plan_.kinds[object.kind] : nullptr;
    spans_.push_back({plan == nullptr ? object.address : AddressOf(object, *plan), 0});
  }
}

// How far the accesses to objects reach; those without any need no lines.
void Relocated::Measure(const Scene& scene) {
  std::vector<std::uint64_t> reach(plan_.kinds.size() + 1);
  for (std::size_t field = 0; field < scene.fields().size(); ++field) {
    std::uint64_t& furthest = reach[scene.fields()[field].kind];
    for (std::uint32_t index = first_part_[field]; index < first_part_[field + 1]; ++index) {
      if (!parts_[index].sharded) furthest = std::max(furthest, parts_[index].offset + parts_[index].width);
    }
  }
  for (std::size_t number = 0; number < objects_; ++number) {
    if (scene.touched()[number]) spans_[number].bytes = reach[scene.objects().objects()[number].kind];
  }
}

void Relocated::PlaceShards(const Scene& scene) {
  const Sharding& sharding = *plan_.sharding;
  CheckPlan(sharding.ways >= 1 && sharding.ways <= COHERENCE_MAX_CPUS, "a lock is sharded 1 to 64 ways");
  CheckPlan(sharding.alignment >= 1 && sharding.alignment <= 4096, "shards are aligned to 1 to 4096 bytes");
  for (const std::uint32_t shard : sharding.shard_of_cpu)
    CheckPlan(shard < sharding.ways, "a CPU has no such shard");
  std::vector<std::uint64_t> ends(plan_.kinds.size());  // of a shard so far, by kind
  for (const Sharding::Range& range : sharding.ranges) {
    CheckPlan(range.kind < ends.size(), "a sharded member is of no kind");
    // Members keep their place in a word, so that none straddles a line that did not before.
    const std::uint64_t begin = RoundUp(ends[range.kind], 8) + range.offset % 8;
    range_offset_.push_back(begin);
    ends[range.kind] = begin + range.size;
    shard_bytes_ = std::max(shard_bytes_, ends[range.kind]);
  }
  shard_bytes_ = RoundUp(std::max<std::uint64_t>(shard_bytes_, 1), sharding.alignment);
  const std::uint64_t family = RoundUp(shard_bytes_ * sharding.ways, ObjectMap::kLongestLine);
  for (std::size_t number = 0; number < objects_; ++number) {
    spans_.push_back({kShardMemory + number * family, scene.touched()[number] ? family : 0});
  }
}

void Relocated::PlaceFields(const Scene& scene) {
  for (const Field& field : scene.fields()) {
    first_part_.push_back(static_cast<std::uint32_t>(parts_.size()));
    for (std::uint32_t byte = 0; byte < field.width; ++byte) {
      const Part next = ByteOf(field.kind, field.offset + byte);
      const bool follows = byte > 0 && parts_.back().sharded == next.sharded &&
                           parts_.back().offset + parts_.back().width == next.offset;
      if (follows) {
        ++parts_.back().width;
      } else {
        parts_.push_back(next);
      }
    }
  }
  first_part_.push_back(static_cast<std::uint32_t>(parts_.size()));
}

Relocated::Part Relocated::ByteOf(std::uint32_t kind, std::uint32_t offset) const {
  if (plan_.sharding) {
    for (std::size_t index = 0; index < plan_.sharding->ranges.size(); ++index) {
      const Sharding::Range& range = plan_.sharding->ranges[index];
      if (range.kind == kind && offset >= range.offset && offset - range.offset < range.size)
        return {range_offset_[index] + offset - range.offset, 1, true};
    }
  }
  return {MovedTo(kind, offset), 1, false};
}

std::uint32_t Relocated::MovedTo(std::uint32_t kind, std::uint32_t offset) const {
  if (kind >= plan_.kinds.size()) return offset;
  const KindPlan& plan = plan_.kinds[kind];
  const auto behind =
      std::upper_bound(plan.pieces.begin(), plan.pieces.end(), offset,
                       [](std::uint32_t wanted, const Piece& one) { return wanted < one.old_offset; });
  if (behind == plan.pieces.begin()) return offset;
  const Piece& piece = *std::prev(behind);
  if (offset - piece.old_offset < piece.size) return offset - piece.old_offset + piece.new_offset;
  return static_cast<std::uint32_t>(offset + plan.tail);
}

}  // namespace linesmith::replay
