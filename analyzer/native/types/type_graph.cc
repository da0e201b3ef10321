// SPDX-License-Identifier: GPL-2.0-or-later
#include "types/type_graph.h"

#include <dwarf.h>

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "layouts/record_builder.h"
#include "layouts/type_chain.h"
#include "types/record_definitions.h"
#include "types/type_store.h"

namespace linesmith {
namespace {

// Real chains of typedefs, pointers and arrays are far shorter; a longer one is a loop.
constexpr unsigned kDeepestChain = 100;
constexpr std::uint64_t kPointerBytes = 8;

bool IsPointer(std::uint16_t tag) {
  return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

bool IsNumber(std::uint16_t tag) {
  return tag == DW_TAG_base_type || tag == DW_TAG_enumeration_type || tag == DW_TAG_subrange_type ||
         tag == DW_TAG_ptr_to_member_type;
}

std::uint64_t Elements(const ArrayBounds& bounds) {
  std::uint64_t count = 1;
  for (const std::uint64_t rank : bounds.dimensions) {
    if (__builtin_mul_overflow(count, rank, &count)) return 0;
  }
  return count;
}

// Static members are declared inside a record, but are no part of it.
bool IsPartOfRecord(const DieHead& head, const Attributes& attributes) {
  const std::uint16_t tag = head.abbreviation->tag;
  if (tag != DW_TAG_member && tag != DW_TAG_inheritance) return false;
  return attributes.Has(Slot::kType) && !attributes.Has(Slot::kDeclaration) &&
         !attributes.Has(Slot::kExternal) && !attributes.complex_location;
}

// Where a record is described, for its members.
struct RecordPlace {
  const Unit* unit = nullptr;
  std::uint64_t offset = 0;
  bool loaded = false;
  std::vector<Field> fields;
};

}  // namespace

struct TypeGraph::State {
  explicit State(UnitPool& owner) : pool(owner), identity(owner), chain(owner), definitions(owner) {}

  TypeId Find(UnitContext& unit, std::uint64_t reference, unsigned depth);
  TypeId Build(const TypeDie& die, unsigned depth);
  TypeId PointerTo(TypeId target, std::uint64_t size);
  TypeId BuildArray(const TypeDie& die, unsigned depth);
  TypeId BuildRecord(const TypeDie& die);
  TypeId Inner(const TypeDie& die, unsigned depth);
  std::string_view NameOf(const TypeDie& record);
  TypeId Declare(const TypeNode& named);
  TypeId Definition(TypeId declaration);
  TypeId FindDefinition(std::uint64_t key);
  void Settle(TypeId pointer);
  void LoadFields(RecordPlace& record);
  void AddField(UnitContext& unit, const Attributes& member, std::vector<Field>& fields);

  UnitPool& pool;
  TypeIdentity identity;
  TypeChain chain;
  TypeStore store;
  std::unordered_map<TypeId, RecordPlace> records;
  std::deque<std::string> names;                           // those that no section has as they are
  std::unordered_map<TypeId, std::uint64_t> declarations;  // records by name only, to the key of the name
  std::unordered_map<TypeId, TypeId> declared_targets;     // of pointers, whatever they lead to now
  // What names mean in the unit entered.
  RecordDefinitions definitions;
  std::unordered_map<TypeId, TypeId> resolved;  // from declarations
  std::uint32_t entries = 1;                    // how often a unit has been entered
  std::vector<std::uint32_t> settled;           // of each type: the entry that its target is right for
};

TypeId TypeGraph::State::Find(UnitContext& from, std::uint64_t reference, unsigned depth) {
  if (depth > kDeepestChain) return kVoid;
  const DieRef place = pool.Follow(from, reference);
  if (!place) return kVoid;
  // kVoid stands in while the type is being built: a chain that comes back to it leads nowhere.
  const auto [known, fresh] = place.unit->graph_types.try_emplace(place.offset, kVoid);
  if (!fresh) return known->second;
  const TypeDie die = chain.Load(from, reference);
  const TypeId type = die ? Build(die, depth + 1) : kVoid;
  place.unit->graph_types[place.offset] = type;
  return type;
}

TypeId TypeGraph::State::Inner(const TypeDie& die, unsigned depth) {
  if (!die.attributes.Has(Slot::kType)) return kVoid;
  return Find(*die.place.unit, die.attributes.Get(Slot::kType), depth);
}

TypeId TypeGraph::State::Build(const TypeDie& die, unsigned depth) {
  const std::uint16_t tag = die.tag();
  if (tag == DW_TAG_typedef || IsQualifierTag(tag)) return Inner(die, depth);
  if (IsRecordTag(tag)) return BuildRecord(die);
  if (tag == DW_TAG_array_type) return BuildArray(die, depth);
  if (tag == DW_TAG_subroutine_type) return store.FunctionOf(Inner(die, depth));
  const std::uint64_t address_bytes = die.place.unit->unit().widths.address_bytes;
  if (IsPointer(tag)) return PointerTo(Inner(die, depth), die.attributes.Get(Slot::kByteSize, address_bytes));
  if (IsNumber(tag))
    return store.Scalar(die.attributes.Text(Slot::kName), die.attributes.Get(Slot::kByteSize));
  return kVoid;
}

// All pointers to records of one name are one, whichever unit they are from and whether it defines the
// record.
TypeId TypeGraph::State::PointerTo(TypeId target, std::uint64_t size) {
  const TypeNode& node = store[target];
  if (node.kind != TypeKind::kRecord || node.name.empty()) return store.PointerTo(target, size);
  const TypeId declaration = Declare(node);
  const TypeId pointer = store.PointerTo(declaration, size);
  if (declared_targets.try_emplace(pointer, declaration).second) store.Redirect(pointer, declaration);
  return pointer;
}

TypeId TypeGraph::State::Declare(const TypeNode& named) {
  const std::uint64_t key = RecordKey(named.name, named.is_union);
  const TypeId type = store.Declaration(key, named);
  declarations.try_emplace(type, key);
  return type;
}

TypeId TypeGraph::State::BuildArray(const TypeDie& die, unsigned depth) {
  TypeId element = Inner(die, depth);
  if (element == kVoid) return kVoid;
  std::uint64_t size = 0;
  if (__builtin_mul_overflow(Elements(chain.Bounds(die)), store[element].size, &size)) size = 0;
  if (store[element].kind == TypeKind::kArray) element = store[element].target;
  return store.ArrayOf(element, size);
}

std::string_view TypeGraph::State::NameOf(const TypeDie& record) {
  const char* plain = record.attributes.Text(Slot::kName);
  std::string name = chain.RecordName(record);
  pool.Spend(name.size());
  if (name == plain) return plain;
  return names.emplace_back(std::move(name));
}

TypeId TypeGraph::State::BuildRecord(const TypeDie& die) {
  const bool is_union = die.tag() == DW_TAG_union_type;
  TypeNode node;
  node.kind = TypeKind::kRecord;
  node.is_union = is_union;
  if (die.attributes.Has(Slot::kDeclaration)) {
    node.name = NameOf(die);
    return node.name.empty() ? kVoid : Declare(node);
  }
  const std::uint64_t hash = identity.OfRecord(*die.place.unit, die.place.offset);
  if (const TypeId known = store.Record(hash); known != kVoid) return known;
  node.size = die.attributes.Get(Slot::kByteSize);
  node.identity = hash;
  node.name = NameOf(die);
  node.is_typedef = *die.attributes.Text(Slot::kName) == 0 && !node.name.empty();
  const TypeId type = store.AddRecord(node);
  records[type] = {
      .unit = &die.place.unit->unit(), .offset = die.place.offset, .loaded = false, .fields = {}};
  return type;
}

TypeId TypeGraph::State::FindDefinition(std::uint64_t key) {
  try {
    const RecordDefinition place = definitions.Find(key);
    return place.unit != nullptr ? Find(pool.Open(*place.unit), place.offset, 0) : kVoid;
  } catch (const Truncated&) {
  } catch (const Error&) {
  }
  return kVoid;
}

// What a declaration stands for in the unit entered; itself when that has no definition either.
TypeId TypeGraph::State::Definition(TypeId declaration) {
  const auto [known, fresh] = resolved.try_emplace(declaration, declaration);
  if (!fresh) return known->second;
  const TypeId definition = FindDefinition(declarations.at(declaration));
  return definition != kVoid ? resolved[declaration] = definition : declaration;
}

// Lets a pointer lead to what the unit entered means by its name.
void TypeGraph::State::Settle(TypeId pointer) {
  if (settled.size() <= pointer) settled.resize(store.size());
  if (std::exchange(settled[pointer], entries) == entries) return;
  store.Redirect(pointer, Definition(declared_targets.at(pointer)));
}

void TypeGraph::State::AddField(UnitContext& unit, const Attributes& member, std::vector<Field>& fields) {
  Field field;
  field.type = Find(unit, member.Get(Slot::kType), 0);
  field.offset = member.Get(Slot::kMemberLocation);
  field.size = store[field.type].size;
  if (member.Has(Slot::kBitSize)) {
    const std::uint64_t bits = member.Get(Slot::kBitSize);
    const std::uint64_t first =
        PlaceBitField(member, field.size, unit.unit().file->little_endian()).bit_offset;
    field.offset = first / 8;
    field.size = (first % 8 + bits + 7) / 8;
  }
  fields.push_back(field);
}

void TypeGraph::State::LoadFields(RecordPlace& record) {
  record.loaded = true;
  std::vector<Field> fields;
  try {
    UnitContext& unit = pool.Open(*record.unit);
    const TypeDie die = chain.Load(unit, record.offset);
    ByteCursor cursor = unit.CursorAt(die.behind);
    Attributes attributes;
    while (die.abbreviation->has_children && !cursor.done()) {
      const DieHead head = unit.Head(cursor);
      if (head.abbreviation == nullptr) break;
      unit.Read(*head.abbreviation, cursor, attributes);
      if (IsPartOfRecord(head, attributes)) AddField(unit, attributes, fields);
      unit.StepOverChildren(*head.abbreviation, attributes, cursor);
    }
  } catch (const Truncated&) {
  } catch (const Error&) {
  }
  std::ranges::stable_sort(fields, {}, &Field::offset);
  record.fields = std::move(fields);
}

TypeGraph::TypeGraph(UnitPool& pool) : state_(std::make_unique<State>(pool)) {}

TypeGraph::~TypeGraph() = default;

UnitPool& TypeGraph::pool() { return state_->pool; }

void TypeGraph::Enter(const UnitContext& unit) {
  if (state_->definitions.InUnit(unit.unit())) return;
  state_->definitions.Enter(unit.unit());
  state_->resolved.clear();
  ++state_->entries;
}

TypeId TypeGraph::Of(UnitContext& unit, std::uint64_t reference) {
  try {
    return state_->Find(unit, reference, 0);
  } catch (const Truncated&) {
  } catch (const Error&) {
  }
  return kVoid;
}

TypeId TypeGraph::PointerTo(TypeId target) { return state_->PointerTo(target, kPointerBytes); }

const TypeNode& TypeGraph::operator[](TypeId type) const {
  const TypeNode& node = state_->store[type];
  if (node.target_declared) state_->Settle(type);
  return node;
}

TypeId TypeGraph::NamedTarget(TypeId pointer) const {
  const auto named = state_->declared_targets.find(pointer);
  return named != state_->declared_targets.end() ? named->second : state_->store[pointer].target;
}

std::size_t TypeGraph::size() const { return state_->store.size(); }

const std::vector<Field>& TypeGraph::Fields(TypeId record) {
  static const std::vector<Field> kNone;
  const auto found = state_->records.find(record);
  if (found == state_->records.end()) return kNone;
  RecordPlace& place = found->second;  // stays when loading adds further records
  if (!place.loaded) state_->LoadFields(place);
  return place.fields;
}

}  // namespace linesmith
