// SPDX-License-Identifier: GPL-2.0-or-later
// The one pass over a whole unit that finds its records, their scopes and their typedefs.
#include <algorithm>

#include "dwarf/unit_context.h"

namespace linesmith {
namespace {

// Real code nests blocks a few dozen deep; a file that nests further is made to exhaust memory.
constexpr std::size_t kDeepestNesting = 20'000;
// A record takes its code, its size and what tells it from others.
constexpr std::uint64_t kLeastBytesPerRecord = 3;

}  // namespace

void UnitContext::Scan() {
  scanned_ = true;
  scopes_.assign(1, Scope{});
  std::vector<std::uint32_t> open;  // scope of the children at each depth
  ByteCursor cursor = CursorAt(unit_->section.data() + unit_->first_die);
  Attributes attributes;
  std::uint32_t scope = 0;
  while (!cursor.done()) {
    StepOverPlain(cursor);
    if (cursor.done()) break;
    const std::uint8_t* start = cursor.position();
    const DieHead head = Head(cursor);
    if (head.abbreviation == nullptr) {
      if (open.empty()) break;
      scope = open.back();
      open.pop_back();
      continue;
    }
    const Abbreviation& abbreviation = *head.abbreviation;
    std::uint32_t inner = scope;
    switch (abbreviation.action) {
      case ScanAction::kStep:
        Step(abbreviation, cursor);
        break;
      case ScanAction::kJump:
        Read(abbreviation, cursor, attributes);
        StepOverChildren(abbreviation, attributes, cursor);
        continue;
      case ScanAction::kTypedef:
        ScanTypedef(abbreviation, cursor);
        break;
      case ScanAction::kRecord:
      case ScanAction::kNamespace:
        inner = ScanScope(abbreviation, {OffsetOf(start), scope}, cursor);
        break;
    }
    if (abbreviation.has_children) {
      if (open.size() >= kDeepestNesting) throw Truncated();
      open.push_back(scope);
      scope = inner;
    }
  }
}

// Moves over DIEs of which nothing is noted, as long as all of them is surely in the unit.
void UnitContext::StepOverPlain(ByteCursor& cursor) const {
  constexpr std::size_t kLongest = 0xff;
  if (cursor.left() < kLongest) return;
  const std::array<std::uint8_t, 256>& sizes = abbreviations_->plain_sizes();
  const std::uint8_t* place = cursor.position();
  const std::uint8_t* const last = cursor.end() - kLongest;
  while (place <= last && sizes[*place] != 0) place += sizes[*place];
  cursor.ForwardTo(place);
}

// Notes a record definition; returns the scope of what is declared inside.
std::uint32_t UnitContext::ScanScope(const Abbreviation& abbreviation, const RecordDie& die,
                                     ByteCursor& cursor) {
  const bool record = abbreviation.action == ScanAction::kRecord;
  const bool elsewhere = abbreviation.Has(Slot::kDeclaration) || abbreviation.Has(Slot::kSignature);
  if (record && !elsewhere) records_.push_back(die);
  if (records_.size() > (unit_->end - unit_->offset) / kLeastBytesPerRecord) throw Truncated();
  if (record && die.scope != 0) scoped_.push_back(die);
  if (!qualifies_names_ || !abbreviation.has_children) {
    Step(abbreviation, cursor);
    return die.scope;
  }
  Attributes attributes;
  Read(abbreviation, cursor, attributes);
  scopes_.push_back({.parent = die.scope, .name = attributes.Text(Slot::kName)});
  return static_cast<std::uint32_t>(scopes_.size() - 1);
}

void UnitContext::ScanTypedef(const Abbreviation& abbreviation, ByteCursor& cursor) {
  Attributes attributes;
  Read(abbreviation, cursor, attributes);
  const std::uint64_t target = attributes.Get(Slot::kType);
  if (!attributes.Has(Slot::kType)) return;
  if (target >> kReferenceShift != 0) foreign_typedefs_.push_back({target, attributes.Text(Slot::kName)});
  if (!Contains(target)) return;
  const std::uint8_t* place = unit_->section.data() + target;
  ByteCursor target_cursor = CursorAt(place);
  const DieHead head = Head(target_cursor);
  if (head.abbreviation == nullptr || head.abbreviation->action != ScanAction::kRecord) return;
  if (!head.abbreviation->Has(Slot::kName)) typedef_names_.emplace(target, attributes.Text(Slot::kName));
}

const std::vector<RecordDie>& UnitContext::records() {
  if (!scanned_) Scan();
  return records_;
}

const std::vector<Scope>& UnitContext::scopes() {
  if (!scanned_) Scan();
  return scopes_;
}

const std::vector<ForeignTypedef>& UnitContext::foreign_typedefs() {
  if (!scanned_) Scan();
  return foreign_typedefs_;
}

const char* UnitContext::TypedefName(std::uint64_t record) {
  if (!scanned_) Scan();
  if (const auto found = typedef_names_.find(record); found != typedef_names_.end()) return found->second;
  if (foreign_names == nullptr) return nullptr;
  const auto found = foreign_names->find({unit_->index, record});
  return found != foreign_names->end() ? found->second.c_str() : nullptr;
}

std::uint32_t UnitContext::ScopeOf(std::uint64_t record) {
  if (scopes().size() == 1) return 0;
  const auto found = std::ranges::lower_bound(scoped_, record, {}, &RecordDie::offset);
  return found != scoped_.end() && found->offset == record ? found->scope : 0;
}

}  // namespace linesmith
