// SPDX-License-Identifier: GPL-2.0-or-later
#include "declaration_links.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace linesmith {
namespace {

std::unordered_map<std::string_view, std::uint32_t> MostUsedByName(const std::vector<Record>& records) {
  std::unordered_map<std::string_view, std::uint32_t> by_name;
  for (std::uint32_t id = 0; id < records.size(); ++id) {
    const auto [found, fresh] = by_name.try_emplace(records[id].name, id);
    if (!fresh && records[id].units > records[found->second].units) found->second = id;
  }
  return by_name;
}

}  // namespace

void LinkDeclarations(const std::vector<OpenMember>& open, std::vector<Record>& records) {
  if (open.empty()) return;
  const auto by_name = MostUsedByName(records);
  for (const OpenMember& place : open) {
    const auto found = by_name.find(place.name);
    if (place.name.empty() || found == by_name.end()) continue;
    const Record& definition = records[found->second];
    Member& member = records[place.owner].members[place.member];
    std::uint64_t size = definition.size;
    for (const std::uint64_t count : member.dimensions) {
      if (__builtin_mul_overflow(size, count, &size)) size = 0;
    }
    // Another record of that name is meant when this one does not fit.
    const Record& owner = records[place.owner];
    if (member.offset > owner.size || size > owner.size - member.offset) continue;
    member.record = found->second;
    member.size = size;
    member.natural_alignment =
        std::max({member.natural_alignment, definition.natural_alignment, definition.alignment.value_or(1)});
  }
}

}  // namespace linesmith
