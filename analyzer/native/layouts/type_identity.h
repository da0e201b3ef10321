// SPDX-License-Identifier: GPL-2.0-or-later
// When two DIEs of different units describe the same type: equal hashes over everything that a layout shows.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "dwarf/unit_pool.h"
#include "records/record_set.h"

namespace linesmith {

// Whether names are the same when their letters are, or when they stand at the same place of the file: then
// so are the letters, and nothing has to be fetched that lies scattered over megabytes.
enum class NamesBy { kText, kAddress };

// One worker's hashing; results are remembered per unit.
class TypeIdentity {
 public:
  explicit TypeIdentity(UnitPool& pool, NamesBy names = NamesBy::kText) : pool_(pool), names_(names) {}
  // By text, but takes the identities of records whose keys (by address) are in `known` from there.
  TypeIdentity(UnitPool& pool, TypeIdentity& keys, VariantTable& known)
      : pool_(pool), names_(NamesBy::kText), keys_(&keys), known_(&known) {}

  // Name, kind, size, place of declaration and every member with the layouts of the records it holds by
  // value. Throws Truncated when the DIEs are damaged.
  std::uint64_t OfRecord(UnitContext& unit, std::uint64_t offset);

 private:
  struct Description {
    std::uint64_t hash = 0;
    bool holds_types = false;  // by value: then the type's layout is described where it is asked for deeply
  };

  IdentityMemo& MemoOf(UnitContext& unit) const {
    return names_ == NamesBy::kText ? unit.identities : unit.keys;
  }
  std::uint64_t Name(const UnitContext& unit, const char* text) const;
  std::uint64_t Shallow(UnitContext& unit, std::uint64_t reference, unsigned depth) {
    return Of(unit, reference, false, depth);
  }
  std::uint64_t Deep(UnitContext& unit, std::uint64_t reference, unsigned depth) {
    return Of(unit, reference, true, depth);
  }
  std::uint64_t Of(UnitContext& unit, std::uint64_t reference, bool deep, unsigned depth);
  Description Describe(DieRef die, bool deep, unsigned depth);
  std::uint64_t DescribeRecord(DieRef die, const DieHead& head, bool deep, unsigned depth);
  std::uint64_t DescribeMembers(UnitContext& unit, ByteCursor cursor, unsigned depth);
  std::uint64_t DescribeChildren(UnitContext& unit, ByteCursor cursor, unsigned depth);
  std::uint64_t QualifiedName(UnitContext& unit, std::uint64_t offset, const char* name);
  std::uint64_t File(UnitContext& unit, std::uint64_t index);

  UnitPool& pool_;
  NamesBy names_;
  TypeIdentity* keys_ = nullptr;
  VariantTable* known_ = nullptr;
  // Hash of a file's path by the three strings it is made of; those are shared by all units of a linked file.
  std::unordered_map<std::uint64_t, std::uint64_t> files_;
};

}  // namespace linesmith
