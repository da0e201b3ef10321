// SPDX-License-Identifier: GPL-2.0-or-later
#include "inference/place_table.h"

#include <algorithm>

namespace linesmith {
namespace {

// What all blocks of a function together may note: a made-up function could have every place in every block.
constexpr std::size_t kMostEntered = std::size_t{1} << 20;

}  // namespace

PlaceTable::PlaceTable(const FunctionFacts* facts, TypeParts& parts) {
  if (facts == nullptr) return;
  std::vector<const VariablePlace*> sorted;
  sorted.reserve(facts->places.size());
  for (const VariablePlace& place : facts->places) sorted.push_back(&place);
  std::ranges::stable_sort(sorted, [](const VariablePlace* one, const VariablePlace* two) {
    return std::pair(one->range.low, one->inline_depth) < std::pair(two->range.low, two->inline_depth);
  });
  for (const VariablePlace* place : sorted) Add(*place, parts);
}

void PlaceTable::Add(const VariablePlace& place, TypeParts& parts) {
  ClaimedPlace claimed{.low = place.range.low,
                       .high = place.range.high,
                       .kind = place.kind,
                       .reg = place.reg,
                       .offset = place.offset,
                       .claim = {},
                       .object = kVoid};
  switch (place.kind) {
    case PlaceKind::kRegister:
    case PlaceKind::kRegisterValue:
      if (place.reg >= kMostRegisters) return;
      break;
    case PlaceKind::kMemory:
      if (place.reg >= kMostRegisters) return;
      [[fallthrough]];
    case PlaceKind::kFrame:
      if (place.piece_offset != 0 || place.piece_bytes != 0) break;
      claimed.object = place.type;
      places_.push_back(claimed);
      return;
    default:
      return;
  }
  const Content content = parts.ContentAt(place.type, place.piece_offset, kWord);
  if (content.kind != Content::Kind::kPointer) return;
  claimed.claim.type = content.target;
  if (place.kind == PlaceKind::kRegisterValue) claimed.claim.offset = -place.offset;
  places_.push_back(claimed);
}

std::uint32_t PlaceTable::FirstAfter(std::uint64_t address) const {
  const auto found = std::ranges::upper_bound(places_, address, {}, &ClaimedPlace::low);
  return static_cast<std::uint32_t>(found - places_.begin());
}

void PlaceTable::Enter(const ControlFlow& flow, const std::vector<Instruction>& instructions) {
  entered_.assign(flow.blocks().size(), {});
  std::vector<std::uint32_t> active;
  std::uint32_t next = 0;
  std::size_t total = 0;
  for (std::size_t block = 0; block < entered_.size(); ++block) {
    const std::uint64_t start = instructions[flow.blocks()[block].first].address;
    for (; next < places_.size() && places_[next].low <= start; ++next) active.push_back(next);
    std::erase_if(active, [&](std::uint32_t place) { return places_[place].high <= start; });
    total += active.size();
    if (total > kMostEntered) break;
    entered_[block] = active;
  }
}

}  // namespace linesmith
