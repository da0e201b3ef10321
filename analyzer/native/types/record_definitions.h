// SPDX-License-Identifier: GPL-2.0-or-later
// Which record a name means in a unit.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "dwarf/unit_pool.h"
#include "layouts/type_identity.h"

namespace linesmith {

// The DIE of a definition; null `unit` where a name has none, or several that differ.
struct RecordDefinition {
  const Unit* unit = nullptr;
  std::uint64_t offset = 0;
};

// Records are told apart by name and kind, as C does.
std::uint64_t RecordKey(std::string_view name, bool is_union);

// One worker's view: C lets every unit define a name as it likes, so what a name means depends on the unit.
class RecordDefinitions {
 public:
  explicit RecordDefinitions(UnitPool& pool) : pool_(pool) {}

  // From now on names are those of `unit`.
  void Enter(const Unit& unit);
  bool InUnit(const Unit& unit) const { return entered_ == &unit; }
  // In the unit entered; where its code and types may lie in different units, in any. Throws Truncated or
  // Error when a unit is damaged.
  RecordDefinition Find(std::uint64_t key);

 private:
  // By key.
  using Map = std::unordered_map<std::uint64_t, RecordDefinition>;

  void ListEntered();
  void ListAll();

  UnitPool& pool_;
  const Unit* entered_ = nullptr;
  bool listed_ = false;
  Map here_;
  bool all_listed_ = false;
  Map anywhere_;
};

}  // namespace linesmith
