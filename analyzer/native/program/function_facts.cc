// SPDX-License-Identifier: GPL-2.0-or-later
#include "program/function_facts.h"

#include <dwarf.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "program/die_values.h"
#include "program/location_list.h"
#include "program/unit_addresses.h"

namespace linesmith {
namespace {

// Real code nests blocks and inlined calls a few dozen deep; a file that nests further is made to exhaust
// memory.
constexpr std::size_t kDeepestNesting = 2'000;
// Places in vector and other special registers, which hold no addresses, are left out.
constexpr std::uint8_t kMostPlaceRegisters = 32;
// What a place counts against the limit of UnitPool::Spend(): it takes far more memory than an entry has
// bytes.
constexpr std::uint64_t kStepsPerPlace = 16;
// Functions of one unit that may be damaged; each can cost a second look at the bytes behind it.
constexpr unsigned kMostDamaged = 50;

// What the DIEs at one depth belong to.
struct Scope {
  std::int32_t function = -1;  // position in UnitFacts::functions; -1: no code, an abstract instance
  std::int32_t inlined = -1;   // position in FunctionFacts::inlined
  std::uint32_t inline_depth = 0;
  bool parameters = false;  // formal parameters here are the function's
  ExpressionValue frame_base;
  std::size_t ranges = 0;  // position in FactsReader::ranges_: where variables without a list are
  const std::uint8_t* sibling = nullptr;  // of a function: where to go on when it is damaged
};

// What a function or variable is called, and its type or that of its result.
struct TypedName {
  std::string_view name;
  TypeId type = kVoid;
};

class FactsReader {
 public:
  FactsReader(UnitContext& unit, TypeGraph& graph, UnitFacts& facts)
      : unit_(unit), graph_(graph), pool_(graph.pool()), addresses_(pool_, unit), facts_(facts) {}

  void Read();

 private:
  void ReadEntry();
  bool Recover();
  void Leave();
  void Open(const Abbreviation& abbreviation, const Scope& scope);
  void Open(const Abbreviation& abbreviation, Scope scope, std::vector<AddressRange> ranges);
  void StepOver(const Abbreviation& abbreviation);
  void ReadFunction(const Abbreviation& abbreviation);
  void ReadInlined(const Abbreviation& abbreviation);
  void ReadBlock(const Abbreviation& abbreviation);
  void ReadVariable(const Abbreviation& abbreviation);
  void AddList(const std::vector<ListedLocation>& list, TypeId type);
  void AddPlaces(AddressRange range, TypeId type);
  bool AddGlobal(const TypedName& variable);
  TypedName NameAndType(const DieValues& die);
  Scope InnerScope() const;

  UnitContext& unit_;
  TypeGraph& graph_;
  UnitPool& pool_;
  UnitAddresses addresses_;
  UnitFacts& facts_;
  ByteCursor cursor_{nullptr, nullptr, true};
  DieValues die_;
  std::vector<Scope> scopes_;
  std::vector<std::vector<AddressRange>> ranges_;  // of open scopes; inner ones without their own share them
  unsigned damaged_ = 0;
  std::unordered_map<std::uint64_t, TypedName> origins_;  // by decoded reference
  std::vector<ExpressionPlace> expression_places_;        // of the expression read last
};

void FactsReader::Read() {
  const Unit& unit = unit_.unit();
  cursor_ = unit_.CursorAt(unit.section.data() + unit.first_die);
  scopes_.emplace_back();
  ranges_.emplace_back();
  while (!cursor_.done() && !scopes_.empty()) {
    try {
      ReadEntry();
    } catch (const Truncated&) {
      if (!Recover()) break;
    }
  }
  while (!scopes_.empty()) Leave();
}

void FactsReader::ReadEntry() {
  const DieHead head = unit_.Head(cursor_);
  if (head.abbreviation == nullptr) return Leave();
  const Abbreviation& abbreviation = *head.abbreviation;
  switch (abbreviation.tag) {
    case DW_TAG_subprogram:
      return ReadFunction(abbreviation);
    case DW_TAG_inlined_subroutine:
      return ReadInlined(abbreviation);
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
      return ReadBlock(abbreviation);
    case DW_TAG_variable:
    case DW_TAG_formal_parameter:
      return ReadVariable(abbreviation);
    case DW_TAG_compile_unit:
    case DW_TAG_partial_unit:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_GNU_formal_parameter_pack:
      unit_.Step(abbreviation, cursor_);
      return Open(abbreviation, InnerScope());
    default:
      return StepOver(abbreviation);
  }
}

// Goes on behind the outermost function that is open. False when there is none that says where it ends.
bool FactsReader::Recover() {
  const auto outermost = std::ranges::find_if(scopes_, [](const Scope& scope) { return scope.parameters; });
  if (outermost == scopes_.end() || outermost->sibling == nullptr || ++damaged_ > kMostDamaged) return false;
  cursor_ = unit_.CursorAt(outermost->sibling);
  if (outermost->function >= 0) facts_.functions.resize(static_cast<std::size_t>(outermost->function));
  scopes_.erase(outermost, scopes_.end());
  ranges_.resize(scopes_.back().ranges + 1);
  return true;
}

void FactsReader::Leave() {
  const Scope& scope = scopes_.back();
  if (scope.parameters && scope.function >= 0) {
    std::vector<VariablePlace>& places = facts_.functions[static_cast<std::size_t>(scope.function)].places;
    std::ranges::stable_sort(places, {}, [](const VariablePlace& place) { return place.range.low; });
  }
  scopes_.pop_back();
  if (!scopes_.empty()) ranges_.resize(scopes_.back().ranges + 1);
}

void FactsReader::Open(const Abbreviation& abbreviation, const Scope& scope) {
  if (!abbreviation.has_children) return;
  if (scopes_.size() >= kDeepestNesting) throw Truncated();
  scopes_.push_back(scope);
}

// The same for a scope that has ranges of its own.
void FactsReader::Open(const Abbreviation& abbreviation, Scope scope, std::vector<AddressRange> ranges) {
  if (!abbreviation.has_children) return;
  scope.ranges = ranges_.size();
  Open(abbreviation, scope);
  ranges_.push_back(std::move(ranges));
}

Scope FactsReader::InnerScope() const {
  Scope scope = scopes_.back();
  scope.parameters = false;
  return scope;
}

void FactsReader::StepOver(const Abbreviation& abbreviation) {
  if (!abbreviation.has_children) return unit_.Step(abbreviation, cursor_);
  unit_.Read(abbreviation, cursor_, die_.attributes);
  unit_.StepOverChildren(abbreviation, die_.attributes, cursor_);
}

// The DIE's own name and type, and what is missing from where it was first declared.
TypedName FactsReader::NameAndType(const DieValues& die) {
  TypedName result{.name = die.Text(Slot::kName)};
  if (die.Has(Slot::kType)) result.type = graph_.Of(unit_, die.Get(Slot::kType));
  const Slot slot = die.Has(Slot::kAbstractOrigin) ? Slot::kAbstractOrigin : Slot::kSpecification;
  if (!die.Has(slot)) return result;
  const auto [known, fresh] = origins_.try_emplace(die.Get(slot));
  TypedName& origin = known->second;
  if (fresh) {
    const Declared declared = DeclaredAt(pool_, pool_.Follow(unit_, die.Get(slot)));
    origin.name = declared.name;
    if (declared.type_unit != nullptr) origin.type = graph_.Of(*declared.type_unit, declared.type_offset);
  }
  if (result.name.empty()) result.name = origin.name;
  if (!die.Has(Slot::kType)) result.type = origin.type;
  return result;
}

void FactsReader::ReadFunction(const Abbreviation& abbreviation) {
  if (abbreviation.Has(Slot::kDeclaration)) return StepOver(abbreviation);
  ReadValues(unit_, abbreviation, cursor_, die_);
  Scope scope;
  scope.parameters = true;
  const std::uint64_t sibling = die_.Get(Slot::kSibling);
  if (unit_.Contains(sibling)) scope.sibling = unit_.unit().section.data() + sibling;
  if (scope.sibling <= cursor_.position()) scope.sibling = nullptr;
  std::vector<AddressRange> ranges = addresses_.RangesOf(die_);
  if (!ranges.empty()) {
    if (!die_.frame_base.empty()) scope.frame_base = ReadFrameBase(die_.frame_base, addresses_);
    const TypedName function = NameAndType(die_);
    scope.function = static_cast<std::int32_t>(facts_.functions.size());
    facts_.functions.push_back({.name = function.name,
                                .ranges = ranges,
                                .places = {},
                                .inlined = {},
                                .parameters = {},
                                .result = function.type});
  } else if (die_.Has(Slot::kType)) {
    facts_.inlined_results.push_back(graph_.Of(unit_, die_.Get(Slot::kType)));
  }
  Open(abbreviation, std::move(scope), std::move(ranges));
}

void FactsReader::ReadInlined(const Abbreviation& abbreviation) {
  if (scopes_.back().function < 0) return StepOver(abbreviation);
  ReadValues(unit_, abbreviation, cursor_, die_);
  Scope scope = InnerScope();
  std::vector<AddressRange> ranges = addresses_.RangesOf(die_);
  const TypedName function = NameAndType(die_);
  std::vector<InlinedCall>& calls = facts_.functions[static_cast<std::size_t>(scope.function)].inlined;
  calls.push_back({.name = function.name,
                   .ranges = ranges,
                   .parent = scope.inlined,
                   .result = function.type,
                   .call_file = static_cast<std::uint32_t>(die_.Get(Slot::kCallFile)),
                   .call_line = static_cast<std::uint32_t>(die_.Get(Slot::kCallLine))});
  scope.inlined = static_cast<std::int32_t>(calls.size() - 1);
  ++scope.inline_depth;
  Open(abbreviation, std::move(scope), std::move(ranges));
}

void FactsReader::ReadBlock(const Abbreviation& abbreviation) {
  ReadValues(unit_, abbreviation, cursor_, die_);
  const bool own = die_.Has(Slot::kRanges) || die_.Has(Slot::kLowPc);
  if (own) return Open(abbreviation, InnerScope(), addresses_.RangesOf(die_));
  Open(abbreviation, InnerScope());
}

void FactsReader::ReadVariable(const Abbreviation& abbreviation) {
  const Scope& scope = scopes_.back();
  const bool parameter =
      abbreviation.tag == DW_TAG_formal_parameter && scope.parameters && scope.function >= 0;
  if (!parameter && !abbreviation.Has(Slot::kLocation)) return StepOver(abbreviation);
  ReadValues(unit_, abbreviation, cursor_, die_);
  unit_.StepOverChildren(abbreviation, die_.attributes, cursor_);
  expression_places_.clear();
  if (!die_.location.empty()) {
    ReadExpression(die_.location, addresses_, scope.frame_base, expression_places_);
  }
  const bool listed = die_.Has(Slot::kLocation) && scope.function >= 0;
  if (!parameter && !listed && expression_places_.empty()) return;
  const TypedName variable = NameAndType(die_);
  if (parameter) {
    facts_.functions[static_cast<std::size_t>(scope.function)].parameters.push_back(variable.type);
  }
  if (AddGlobal(variable) || scope.function < 0) return;
  for (const AddressRange& range : ranges_[scope.ranges]) AddPlaces(range, variable.type);
  if (!listed) return;
  const auto list = addresses_.LocationList(die_.Form(Slot::kLocation), die_.Get(Slot::kLocation));
  if (list) AddList(ReadLocationList(addresses_, *list), variable.type);
}

// Places of the expression read last.
void FactsReader::AddPlaces(AddressRange range, TypeId type) {
  const Scope& scope = scopes_.back();
  FunctionFacts& function = facts_.functions[static_cast<std::size_t>(scope.function)];
  addresses_.Spend(kStepsPerPlace * expression_places_.size());
  for (const ExpressionPlace& place : expression_places_) {
    if (place.reg >= kMostPlaceRegisters && place.reg != 0xff) continue;
    function.places.push_back({.range = range,
                               .kind = place.kind,
                               .reg = place.reg,
                               .type = type,
                               .piece_offset = place.piece_offset,
                               .piece_bytes = place.piece_bytes,
                               .offset = place.offset,
                               .inline_depth = scope.inline_depth});
  }
}

void FactsReader::AddList(const std::vector<ListedLocation>& list, TypeId type) {
  const Scope& scope = scopes_.back();
  bool filled = false;  // a list has one default location, which holds wherever the others say nothing
  for (const ListedLocation& entry : list) {
    expression_places_.clear();
    ReadExpression(entry.expression, addresses_, scope.frame_base, expression_places_);
    if (entry.range.low < entry.range.high) {
      AddPlaces(entry.range, type);
    } else if (!std::exchange(filled, true)) {
      for (const AddressRange& gap : Uncovered(ranges_[scope.ranges], list)) AddPlaces(gap, type);
    }
  }
}

// A variable with static storage has one place, wherever the program counter is.
bool FactsReader::AddGlobal(const TypedName& variable) {
  if (expression_places_.size() != 1 || !IsStatic(expression_places_.front())) return false;
  const ExpressionPlace& place = expression_places_.front();
  facts_.globals.push_back({.name = variable.name,
                            .address = static_cast<std::uint64_t>(place.offset),
                            .type = variable.type,
                            .thread_local_storage = place.kind == PlaceKind::kThreadLocal});
  return true;
}

// The line table of a split unit is that of its skeleton; type units and skeletons name one too, but have no
// code of their own.
void ReadLines(UnitContext& unit, UnitPool& pool, UnitFacts& facts) {
  const Unit* skeleton = unit.unit().skeleton;
  UnitContext& linked = skeleton != nullptr ? pool.Open(*skeleton) : unit;
  facts.line_files = &linked.files();
  const Attributes& root = linked.root();
  const bool code = root.Has(Slot::kLowPc) || root.Has(Slot::kRanges) || !facts.functions.empty();
  const bool elsewhere = skeleton == nullptr && root.Has(Slot::kDwoName);
  if (!code || elsewhere || !root.Has(Slot::kStatementList)) return;
  facts.lines = ReadLineRows(pool, linked.unit(), root.Get(Slot::kStatementList));
}

}  // namespace

UnitFacts ReadUnitFacts(UnitContext& unit, TypeGraph& graph) {
  UnitFacts facts;
  graph.Enter(unit);
  FactsReader(unit, graph, facts).Read();
  ReadLines(unit, graph.pool(), facts);
  return facts;
}

}  // namespace linesmith
