// SPDX-License-Identifier: GPL-2.0-or-later
// BTF types as C text, and the names of anonymous records that a typedef names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "btf_types.h"
#include "declarator.h"

namespace linesmith {

// Follows typedefs and qualifiers to the type they stand for. Throws Error("DebugInfoDamaged") on a cycle.
BtfTypeId UnqualifiedBtfType(const BtfTypes& types, BtfTypeId id);

// Texts cost memory that a small hostile blob could multiply (functions that take functions that take ...):
// one speller writes a bounded amount in its life and then throws Error("DebugInfoDamaged").
class BtfSpeller {
 public:
  explicit BtfSpeller(const BtfTypes& types);

  // The two columns of a member called `name` of type `id`; `flexible` writes its first rank as `[]`.
  Columns Spell(std::string_view name, BtfTypeId id, bool flexible);
  // Name of a record; that of its first typedef when it is anonymous, empty when there is none either.
  std::string_view NameOf(BtfTypeId record) const;
  bool IsNamedByTypedef(BtfTypeId record) const;

 private:
  Columns SpellNested(std::string_view name, BtfTypeId id, bool flexible, int depth);
  std::string Parameters(const BtfType& function, int depth);
  std::string Specifier(const BtfType& type) const;
  std::string Enumerators(const BtfType& enumeration) const;
  void Spend(const Columns& columns);

  const BtfTypes& types_;
  std::unordered_map<BtfTypeId, std::string_view> typedef_names_;
  std::uint64_t characters_left_;
};

}  // namespace linesmith
