// SPDX-License-Identifier: GPL-2.0-or-later
// When two DIEs of different units describe the same type: equal hashes over everything that a layout shows.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "dwarf/unit_pool.h"

namespace linesmith {

// One worker's hashing; results are remembered per unit.
class TypeIdentity {
 public:
  explicit TypeIdentity(UnitPool& pool) : pool_(pool), names_(kNamesKept) {}

  // Name, kind, size, place of declaration and every member with the layouts of the records it holds by
  // value. Throws Truncated when the DIEs are damaged.
  std::uint64_t OfRecord(UnitContext& unit, std::uint64_t offset);

 private:
  // Names repeat in every unit; their bytes lie scattered over several megabytes, these entries do not.
  static constexpr unsigned kNameBits = 15;
  static constexpr std::size_t kNamesKept = std::size_t{1} << kNameBits;

  struct KnownName {
    const char* text = nullptr;
    std::uint64_t hash = 0;
  };

  KnownName& Known(const char* text) {
    const auto address = reinterpret_cast<std::uint64_t>(text);
    return names_[address * 0x9e3779b97f4a7c15u >> (64 - kNameBits)];
  }
  std::uint64_t Name(const char* text);
  std::uint64_t Shallow(UnitContext& unit, std::uint64_t reference, unsigned depth);
  std::uint64_t Deep(UnitContext& unit, std::uint64_t reference, unsigned depth);
  std::uint64_t Describe(DieRef die, bool deep, unsigned depth);
  std::uint64_t DescribeRecord(DieRef die, bool deep, unsigned depth);
  std::uint64_t DescribeMembers(UnitContext& unit, ByteCursor cursor, unsigned depth);
  std::uint64_t DescribeChildren(UnitContext& unit, ByteCursor cursor, unsigned depth);
  std::uint64_t QualifiedName(UnitContext& unit, std::uint64_t offset, const char* name);
  std::uint64_t File(UnitContext& unit, std::uint64_t index);

  UnitPool& pool_;
  std::vector<KnownName> names_;
  // Hash of a file's path by the three strings it is made of; those are shared by all units of a linked file.
  std::unordered_map<std::uint64_t, std::uint64_t> files_;
};

}  // namespace linesmith
