// SPDX-License-Identifier: GPL-2.0-or-later
#include "program/unit_summary.h"

#include <dwarf.h>

#include "program/die_values.h"
#include "program/location_expression.h"

namespace linesmith {
namespace {

class SummaryReader {
 public:
  SummaryReader(UnitContext& unit, UnitPool& pool, UnitSummary& summary)
      : unit_(unit), pool_(pool), addresses_(pool, unit), summary_(summary) {}

  void Read();

 private:
  void ReadFunction();
  void ReadVariable();
  Declared NameAndType();

  UnitContext& unit_;
  UnitPool& pool_;
  UnitAddresses addresses_;
  UnitSummary& summary_;
  DieValues die_;
  std::vector<ExpressionPlace> places_;
};

// Whether variables with static storage may be among the children, and nothing is said of them elsewhere.
bool MayHoldStatics(std::uint16_t tag) {
  switch (tag) {
    case DW_TAG_compile_unit:
    case DW_TAG_partial_unit:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
      return true;
    default:
      return false;
  }
}

// Only the depth tells what lies outside of functions; namespaces count as one.
void SummaryReader::Read() {
  ByteCursor cursor = unit_.CursorAt(unit_.unit().section.data() + unit_.unit().first_die);
  unsigned depth = 0;
  while (!cursor.done()) {
    const DieHead head = unit_.Head(cursor);
    if (head.abbreviation == nullptr) {
      --depth;
      continue;
    }
    const Abbreviation& abbreviation = *head.abbreviation;
    const bool function = abbreviation.tag == DW_TAG_subprogram;
    const bool variable = abbreviation.tag == DW_TAG_variable &&
                          (abbreviation.Has(Slot::kLocation) || abbreviation.Has(Slot::kDeclaration) ||
                           (depth == 1 && abbreviation.Has(Slot::kName)));
    const bool enters = MayHoldStatics(abbreviation.tag) && !abbreviation.Has(Slot::kDeclaration);
    if (enters && abbreviation.has_children) ++depth;
    if (!function && !variable && (enters || !abbreviation.has_children)) {
      unit_.Step(abbreviation, cursor);
      continue;
    }
    ReadValues(unit_, abbreviation, cursor, die_);
    if (function) ReadFunction();
    if (variable) ReadVariable();
    if (!enters) unit_.StepOverChildren(abbreviation, die_.attributes, cursor);
  }
}

Declared SummaryReader::NameAndType() {
  Declared own{.name = die_.Text(Slot::kName)};
  own.never_returns = die_.Has(Slot::kNoReturn);
  if (die_.Has(Slot::kType)) {
    own.type_unit = &unit_;
    own.type_offset = die_.Get(Slot::kType);
  }
  const Declared origin = DeclaredAt(pool_, OriginOf(pool_, unit_, die_));
  if (*own.name == 0) own.name = origin.name;
  own.never_returns |= origin.never_returns;
  if (own.type_unit != nullptr) return own;
  own.type_unit = origin.type_unit;
  own.type_offset = origin.type_offset;
  return own;
}

TypeReference ReferenceTo(const Declared& declared) {
  if (declared.type_unit == nullptr) return {};
  return {.unit = &declared.type_unit->unit(), .reference = declared.type_offset};
}

void SummaryReader::ReadFunction() {
  const std::vector<AddressRange> ranges = addresses_.RangesOf(die_);
  if (ranges.empty() && !die_.Has(Slot::kDeclaration)) return;
  const Declared declared = NameAndType();
  SummaryFunction function{
      .name = declared.name, .result = ReferenceTo(declared), .never_returns = declared.never_returns};
  if (ranges.empty()) {
    if (die_.Has(Slot::kLinkageName)) function.name = die_.Text(Slot::kLinkageName);
    summary_.declared_functions.push_back(function);
    return;
  }
  function.address = ranges.front().low;
  summary_.functions.push_back(function);
}

void SummaryReader::ReadVariable() {
  if (die_.Has(Slot::kDeclaration)) {
    const Declared variable = NameAndType();
    const char* linked = die_.Has(Slot::kLinkageName) ? die_.Text(Slot::kLinkageName) : variable.name;
    summary_.declared_variables.push_back({.name = linked, .type = ReferenceTo(variable)});
    return;
  }
  if (die_.location.empty() && !die_.Has(Slot::kLocation)) {
    const Declared variable = NameAndType();
    summary_.unplaced_variables.push_back({.name = variable.name, .type = ReferenceTo(variable)});
    return;
  }
  places_.clear();
  ReadExpression(die_.location, addresses_, {}, places_);
  if (places_.size() != 1 || !IsStatic(places_.front())) return;
  const Declared variable = NameAndType();
  summary_.variables.push_back({.name = variable.name,
                                .address = static_cast<std::uint64_t>(places_.front().offset),
                                .type = ReferenceTo(variable),
                                .thread_local_storage = places_.front().kind == PlaceKind::kThreadLocal});
}

}  // namespace

UnitSummary ReadUnitSummary(UnitContext& unit, UnitPool& pool) {
  UnitSummary summary;
  try {
    SummaryReader(unit, pool, summary).Read();
  } catch (const Truncated&) {
  }
  return summary;
}

}  // namespace linesmith
