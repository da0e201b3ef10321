// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/touched.h"

#include <dwarf.h>

#include <memory>
#include <set>

#include "base/worker_crew.h"
#include "layouts/type_chain.h"

namespace linesmith {
namespace {

constexpr std::size_t kDeepestBlock = 1000;
constexpr unsigned kLongestOrigin = 8;

// Most DIEs describe types, which in C hold no function.
bool HoldsNoFunction(unsigned tag, const UnitContext& context) {
  switch (tag) {
    case DW_TAG_array_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_subroutine_type:
      return true;
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
      return !context.qualifies_names();
    default:
      return false;
  }
}

// One worker's search.
class FunctionReader {
 public:
  FunctionReader(const DebugInfo& info, const NameMatcher& matcher)
      : pool_(info), chain_(pool_), matcher_(matcher) {}

  // Throws Truncated when the unit is damaged.
  void ReadUnit(const Unit& unit);
  std::set<Touched>& facts() { return facts_; }

 private:
  // Whose variables are being read: the function asked for, and the function inlined into it ("": none).
  struct Owner {
    std::string function;
    std::string inlined_from;

    auto operator<=>(const Owner&) const = default;
  };

  TypeDie Origin(const TypeDie& die);
  std::set<std::string> MatchesOf(const TypeDie& function);
  std::string NameOf(TypeDie die);
  void ReadFunction(const TypeDie& function, const Owner& owner, unsigned depth);
  void ReadBody(const TypeDie& parent, const Owner& owner, unsigned depth);
  void ReadDie(const TypeDie& die, const Owner& owner, unsigned depth);
  void AddVariable(TypeDie die, const Owner& owner);
  void Add(const TypeDie& typed, const std::string& variable, const char* via, const Owner& owner);

  UnitPool pool_;
  TypeChain chain_;
  const NameMatcher& matcher_;
  std::set<std::pair<Owner, std::pair<const Unit*, std::uint64_t>>> visited_;
  std::set<Touched> facts_;
};

void FunctionReader::ReadUnit(const Unit& unit) {
  UnitContext& context = pool_.Open(unit);
  ByteCursor cursor = context.CursorAt(unit.section.data() + unit.first_die);
  Attributes attributes;
  while (!cursor.done()) {
    const std::uint64_t offset = context.OffsetOf(cursor.position());
    const DieHead head = context.Head(cursor);
    if (head.abbreviation == nullptr) continue;
    if (head.abbreviation->has_children && HoldsNoFunction(head.abbreviation->tag, context)) {
      context.Read(*head.abbreviation, cursor, attributes);
      context.StepOverChildren(*head.abbreviation, attributes, cursor);
      continue;
    }
    const bool concrete = head.abbreviation->Has(Slot::kLowPc) || head.abbreviation->Has(Slot::kRanges);
    if (head.abbreviation->tag == DW_TAG_subprogram && concrete) {
      const TypeDie function = chain_.Load(context, offset);
      for (const std::string& name : MatchesOf(function)) ReadFunction(function, {name, ""}, 0);
    }
    context.Step(*head.abbreviation, cursor);
  }
  visited_.clear();
  pool_.Trim();
}

// The abstract instance or the declaration that completes a DIE.
TypeDie FunctionReader::Origin(const TypeDie& die) {
  for (const Slot slot : {Slot::kAbstractOrigin, Slot::kSpecification}) {
    if (die.attributes.Has(slot)) return chain_.Load(*die.place.unit, die.attributes.Get(slot));
  }
  return {};
}

std::set<std::string> FunctionReader::MatchesOf(const TypeDie& function) {
  std::set<std::string> matches;
  TypeDie die = function;
  for (unsigned steps = 0; die && steps < kLongestOrigin; ++steps) {
    matcher_.Match(die.attributes.Text(Slot::kName), matches);
    matcher_.Match(WithoutCloneSuffix(die.attributes.Text(Slot::kLinkageName)), matches);
    die = Origin(die);
  }
  return matches;
}

std::string FunctionReader::NameOf(TypeDie die) {
  for (unsigned steps = 0; die && steps < kLongestOrigin; ++steps) {
    if (die.attributes.Has(Slot::kName)) return die.attributes.Text(Slot::kName);
    die = Origin(die);
  }
  return "";
}

// A concrete function or an inlined one, with its abstract instance: that also has the variables optimised
// away.
void FunctionReader::ReadFunction(const TypeDie& function, const Owner& owner, unsigned depth) {
  TypeDie die = function;
  for (unsigned steps = 0; die && steps < kLongestOrigin; ++steps) {
    const auto key = std::pair(owner, std::pair(&die.place.unit->unit(), die.place.offset));
    if (!visited_.insert(key).second) return;
    Add(die, "", "return", owner);
    ReadBody(die, owner, depth + 1);
    die = Origin(die);
  }
}

void FunctionReader::ReadBody(const TypeDie& parent, const Owner& owner, unsigned depth) {
  if (!parent.abbreviation->has_children || depth > kDeepestBlock) return;
  UnitContext& unit = *parent.place.unit;
  ByteCursor cursor = unit.CursorAt(parent.behind);
  while (!cursor.done()) {
    const std::uint64_t offset = unit.OffsetOf(cursor.position());
    const DieHead head = unit.Head(cursor);
    if (head.abbreviation == nullptr) break;
    TypeDie die{
        .place = {&unit, offset}, .abbreviation = head.abbreviation, .behind = nullptr, .attributes = {}};
    unit.Read(*head.abbreviation, cursor, die.attributes);
    die.behind = cursor.position();
    ReadDie(die, owner, depth);
    unit.StepOverChildren(*head.abbreviation, die.attributes, cursor);
  }
}

void FunctionReader::ReadDie(const TypeDie& die, const Owner& owner, unsigned depth) {
  switch (die.tag()) {
    case DW_TAG_formal_parameter:
    case DW_TAG_variable:
      return AddVariable(die, owner);
    case DW_TAG_inlined_subroutine:
      return ReadFunction(die, {owner.function, NameOf(die)}, depth);
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_GNU_formal_parameter_pack:
      return ReadBody(die, owner, depth + 1);
    default:
      return;
  }
}

void FunctionReader::AddVariable(TypeDie die, const Owner& owner) {
  const char* via = die.tag() == DW_TAG_formal_parameter ? "parameter" : "variable";
  const std::string name = NameOf(die);
  for (unsigned steps = 0; die && steps < kLongestOrigin; ++steps) {
    if (die.attributes.Has(Slot::kType)) return Add(die, name, via, owner);
    die = Origin(die);
  }
}

void FunctionReader::Add(const TypeDie& typed, const std::string& variable, const char* via,
                         const Owner& owner) {
  if (!typed.attributes.Has(Slot::kType)) return;
  const TypeShape shape = chain_.ShapeOf(*typed.place.unit, typed.attributes.Get(Slot::kType));
  Touched fact{.function = owner.function,
               .record = shape.target,
               .variable = variable,
               .via = via,
               .inlined_from = owner.inlined_from,
               .read_only = shape.read_only_target,
               .by_value = static_cast<bool>(shape.record)};
  if (shape.record) fact.record = chain_.RecordName(chain_.Load(*shape.record.unit, shape.record.offset));
  if (!fact.record.empty()) facts_.insert(std::move(fact));
}

}  // namespace

std::vector<Touched> ReadTouched(const DebugInfo& info, const FunctionFilter& filter, unsigned threads) {
  const NameMatcher matcher(filter);
  const unsigned count = WorkerCount(threads, info.units.size());
  std::vector<std::unique_ptr<FunctionReader>> crew;
  for (unsigned i = 0; i < count; ++i) crew.push_back(std::make_unique<FunctionReader>(info, matcher));
  RunJobs(count, info.units.size(), [&](unsigned worker, std::size_t index) {
    try {
      crew[worker]->ReadUnit(*info.units[index]);
    } catch (const Truncated&) {
      ThrowDamagedUnit(*info.units[index]);
    }
  });
  std::set<Touched> facts;
  for (const std::unique_ptr<FunctionReader>& reader : crew) facts.merge(reader->facts());
  return {facts.begin(), facts.end()};
}

}  // namespace linesmith
