// SPDX-License-Identifier: GPL-2.0-or-later
// BTF types as C text, and the names of anonymous records that a typedef names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "btf/btf_types.h"
#include "records/declarator.h"

namespace linesmith {

// Follows typedefs and qualifiers to the type they stand for. Throws Error("DebugInfoDamaged") on a cycle.
BtfTypeId UnqualifiedBtfType(const BtfTypes& types, BtfTypeId id);

// The typedef that stands directly before what `id` stands for once arrays are taken off; 0 when none does.
BtfTypeId InnermostBtfTypedef(const BtfTypes& types, BtfTypeId id);

// Texts cost memory that a small hostile blob could multiply (functions that take functions that take ...):
// one speller writes a bounded amount in its life and then throws Error("DebugInfoDamaged").
class BtfSpeller {
 public:
  explicit BtfSpeller(const BtfTypes& types);

  // The two columns of a member called `name` of type `id`; `flexible` writes its first rank as `[]`.
  Columns Spell(std::string_view name, BtfTypeId id, bool flexible);
  // The typedefs that name an anonymous record, by id; none for a record with a name of its own. There can be
  // many, because BTF keeps anonymous records of equal members only once.
  std::span<const BtfTypeId> TypedefsOf(BtfTypeId record) const;
  // Name of a record, or that of `alias` (a typedef, 0 for none) when it has none of its own; may be empty.
  std::string_view NameOf(BtfTypeId record, BtfTypeId alias) const;

 private:
  Columns SpellNested(std::string_view name, BtfTypeId id, bool flexible, int depth);
  std::string Parameters(const BtfType& function, int depth);
  std::string Specifier(const BtfType& type) const;
  std::string Enumerators(const BtfType& enumeration) const;
  void Spend(const Columns& columns);

  const BtfTypes& types_;
  std::unordered_map<BtfTypeId, std::vector<BtfTypeId>> typedefs_;
  std::uint64_t characters_left_;
};

}  // namespace linesmith
