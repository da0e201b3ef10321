// SPDX-License-Identifier: GPL-2.0-or-later
#include "records/record_set.h"

#include <algorithm>
#include <tuple>

namespace linesmith {
namespace {

auto FirstPlace(const Variant& variant) { return std::tuple(variant.unit, variant.offset); }

}  // namespace

bool VariantTable::Add(std::uint64_t key, std::uint64_t identity, std::uint32_t unit, std::uint64_t offset) {
  if (++used_ * 2 > places_.size()) Grow();
  const auto [known, fresh] =
      by_identity_.try_emplace(identity, static_cast<std::uint32_t>(variants_.size()));
  if (fresh) variants_.push_back({.identity = identity, .unit = unit, .last_unit = unit, .offset = offset});
  Probe(key) = {key, known->second};
  variants_[known->second].Count(unit);
  return fresh;
}

void VariantTable::Grow() {
  std::vector<Place> old(places_.size() * 2);
  old.swap(places_);
  for (const Place& place : old) {
    if (place.key != 0) Probe(place.key) = place;
  }
}

RecordSet::RecordSet(const std::vector<VariantTable>& tables) {
  for (const VariantTable& table : tables) {
    for (const Variant& variant : table.variants()) {
      const auto [found, fresh] =
          ids_.try_emplace(variant.identity, static_cast<std::uint32_t>(variants_.size()));
      if (fresh) {
        variants_.push_back(variant);
        continue;
      }
      Variant& known = variants_[found->second];
      const std::uint32_t units = known.units + variant.units;
      if (FirstPlace(variant) < FirstPlace(known)) known = variant;
      known.units = units;
    }
  }
  std::ranges::sort(variants_, {}, FirstPlace);
  for (std::uint32_t id = 0; id < variants_.size(); ++id) ids_[variants_[id].identity] = id;
}

std::int64_t RecordSet::IdOf(std::uint64_t identity) const {
  const auto found = ids_.find(identity);
  return found != ids_.end() ? static_cast<std::int64_t>(found->second) : -1;
}

}  // namespace linesmith
