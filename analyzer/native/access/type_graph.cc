// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/type_graph.h"

#include <dwarf.h>

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "access/type_store.h"
#include "content_hash.h"
#include "error.h"
#include "record_builder.h"
#include "type_chain.h"

namespace linesmith {
namespace {

// Real chains of typedefs, pointers and arrays are far shorter; a longer one is a loop.
constexpr unsigned kDeepestChain = 100;
constexpr std::uint64_t kPointerBytes = 8;
// Names are looked at far more often than kept, and comparing them is cheap.
constexpr std::uint64_t kBytesPerStep = 16;

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
  explicit State(UnitPool& owner) : pool(owner), identity(owner), chain(owner) {}

  TypeId Find(UnitContext& unit, std::uint64_t reference, unsigned depth);
  TypeId Build(const TypeDie& die, unsigned depth);
  TypeId PointerTo(TypeId target, std::uint64_t size);
  TypeId BuildArray(const TypeDie& die, unsigned depth);
  TypeId BuildRecord(const TypeDie& die);
  TypeId Inner(const TypeDie& die, unsigned depth);
  std::string_view NameOf(const TypeDie& record);
  void ListDefinitions();
  TypeId Definition(TypeId declaration);
  TypeId FindDefinition(std::uint64_t key);
  void LoadFields(RecordPlace& record);
  void AddField(UnitContext& unit, const Attributes& member, std::vector<Field>& fields);

  UnitPool& pool;
  TypeIdentity identity;
  TypeChain chain;
  TypeStore store;
  std::unordered_map<TypeId, RecordPlace> records;
  std::unordered_map<TypeId, std::uint64_t> declarations;  // to the key of the name
  std::unordered_map<TypeId, TypeId> declared_targets;     // of pointers, whatever they lead to now
  std::deque<std::string> names;                           // those that no section has as they are
  // Of the unit entered: its definitions by the key of their name, and what declarations have led to.
  const Unit* entered = nullptr;
  bool listed = false;
  std::unordered_map<std::uint64_t, std::uint64_t> definitions;
  std::unordered_map<TypeId, TypeId> resolved;
};

namespace {

// Records are told apart by name and kind, as C does.
std::uint64_t NameKey(std::string_view name, std::uint16_t tag) {
  return MixHash(std::hash<std::string_view>()(name), tag == DW_TAG_union_type ? 1 : 2);
}

}  // namespace

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

TypeId TypeGraph::State::PointerTo(TypeId target, std::uint64_t size) {
  const TypeId pointer = store.PointerTo(target, size);
  if (declarations.contains(target) && declared_targets.try_emplace(pointer, target).second) {
    store.Redirect(pointer, target);
  }
  return pointer;
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
  if (die.attributes.Has(Slot::kDeclaration)) {
    const std::string_view name = NameOf(die);
    if (name.empty()) return kVoid;
    const std::uint64_t key = NameKey(name, die.tag());
    const TypeId type = store.Declaration(key, name, is_union);
    declarations.try_emplace(type, key);
    return type;
  }
  const std::uint64_t hash = identity.OfRecord(*die.place.unit, die.place.offset);
  if (const TypeId known = store.Record(hash); known != kVoid) return known;
  TypeNode node;
  node.kind = TypeKind::kRecord;
  node.size = die.attributes.Get(Slot::kByteSize);
  node.identity = hash;
  node.name = NameOf(die);
  node.is_union = is_union;
  const TypeId type = store.AddRecord(node);
  records[type] = {
      .unit = &die.place.unit->unit(), .offset = die.place.offset, .loaded = false, .fields = {}};
  return type;
}

void TypeGraph::State::ListDefinitions() {
  listed = true;
  if (entered == nullptr) return;
  UnitContext& unit = pool.Open(*entered);
  for (const RecordDie& record : unit.records()) {
    const TypeDie die = chain.Load(unit, record.offset);
    const std::string name = die ? chain.RecordName(die) : "";
    pool.Spend(name.size() / kBytesPerStep);
    if (!name.empty()) definitions.try_emplace(NameKey(name, die.tag()), record.offset);
  }
}

TypeId TypeGraph::State::FindDefinition(std::uint64_t key) {
  try {
    if (!listed) ListDefinitions();
    const auto found = definitions.find(key);
    return found != definitions.end() ? Find(pool.Open(*entered), found->second, 0) : kVoid;
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
  if (state_->entered == &unit.unit()) return;
  state_->entered = &unit.unit();
  state_->listed = false;
  state_->definitions.clear();
  state_->resolved.clear();
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
  if (node.target_declared) {
    state_->store.Redirect(type, state_->Definition(state_->declared_targets.at(type)));
  }
  return node;
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
