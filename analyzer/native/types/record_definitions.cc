// SPDX-License-Identifier: GPL-2.0-or-later
#include "types/record_definitions.h"

#include <dwarf.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "base/content_hash.h"
#include "base/error.h"
#include "layouts/type_chain.h"

namespace linesmith {
namespace {

// Names are looked at far more often than kept, and hashing them is cheap.
constexpr std::uint64_t kBytesPerStep = 16;

// Whether types of this unit may be described in others: link-time optimisation, dwz, type units.
bool RefersElsewhere(const AbbreviationTable& abbreviations) {
  const std::span steps(abbreviations.steps(), abbreviations.step_count());
  return std::ranges::any_of(steps, [](const FormStep& step) {
    return step.form == DW_FORM_ref_addr || step.form == DW_FORM_ref_sig8 || step.form == DW_FORM_ref_sup4 ||
           step.form == DW_FORM_ref_sup8 || step.form == DW_FORM_GNU_ref_alt;
  });
}

// Key of a record; 0 for one without a name.
std::uint64_t KeyOf(UnitPool& pool, TypeChain& chain, const TypeDie& record) {
  const bool is_union = record.tag() == DW_TAG_union_type;
  const char* plain = record.attributes.Text(Slot::kName);
  if (*plain != 0 && record.place.unit->scopes().size() <= 1) return RecordKey(plain, is_union);
  const std::string name = chain.RecordName(record);
  pool.Spend(name.size() / kBytesPerStep);
  return name.empty() ? 0 : RecordKey(name, is_union);
}

// Adds what `unit` defines, under its key, by `add(key, definition)`.
template <typename Add>
void ListDefinitions(UnitPool& pool, const Unit& unit, Add add) {
  TypeChain chain(pool);
  UnitContext& context = pool.Open(unit);
  for (const RecordDie& record : context.records()) {
    const TypeDie die = chain.Load(context, record.offset);
    const std::uint64_t key = die ? KeyOf(pool, chain, die) : 0;
    if (key != 0) add(key, RecordDefinition{&unit, record.offset});
  }
}

}  // namespace

std::uint64_t RecordKey(std::string_view name, bool is_union) {
  return MixHash(std::hash<std::string_view>()(name), is_union ? 1 : 2) | 1;
}

void RecordDefinitions::Enter(const Unit& unit) {
  entered_ = &unit;
  listed_ = false;
  here_.clear();
}

void RecordDefinitions::ListEntered() {
  TypeIdentity identity(pool_);
  UnitContext& unit = pool_.Open(*entered_);
  ListDefinitions(pool_, *entered_, [&](std::uint64_t key, const RecordDefinition& definition) {
    const auto [known, fresh] = here_.try_emplace(key, definition);
    RecordDefinition& first = known->second;
    if (fresh || first.unit == nullptr) return;
    if (identity.OfRecord(unit, first.offset) != identity.OfRecord(unit, definition.offset)) first = {};
  });
}

RecordDefinition RecordDefinitions::Find(std::uint64_t key) {
  if (entered_ == nullptr) return {};
  if (!std::exchange(listed_, true)) ListEntered();
  if (const auto found = here_.find(key); found != here_.end()) return found->second;
  if (!RefersElsewhere(pool_.Open(*entered_).abbreviations())) return {};
  if (!std::exchange(all_listed_, true)) ListAll();
  const auto found = anywhere_.find(key);
  return found != anywhere_.end() ? found->second : RecordDefinition{};
}

// With a pool of its own, so that few units are open at a time.
void RecordDefinitions::ListAll() {
  UnitPool pool(pool_.info());
  TypeIdentity identity(pool);
  std::unordered_map<std::uint64_t, std::uint64_t> identities;
  for (const Unit* unit : pool.info().units) {
    ListDefinitions(pool, *unit, [&](std::uint64_t name, const RecordDefinition& definition) {
      const std::uint64_t hash = identity.OfRecord(pool.Open(*unit), definition.offset);
      const auto [known, fresh] = identities.try_emplace(name, hash);
      if (fresh) {
        anywhere_[name] = definition;
      } else if (known->second != hash) {
        anywhere_[name] = {};
      }
    });
    pool.Trim();
  }
}

}  // namespace linesmith
