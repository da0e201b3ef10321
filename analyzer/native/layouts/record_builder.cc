// SPDX-License-Identifier: GPL-2.0-or-later

#include "layouts/record_builder.h"

#include <dwarf.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/error.h"

namespace linesmith {
namespace {

RecordKind KindOf(std::uint16_t tag) {
  switch (tag) {
    case DW_TAG_union_type:
      return RecordKind::kUnion;
    case DW_TAG_class_type:
      return RecordKind::kClass;
    default:
      return RecordKind::kStruct;
  }
}

// Static data members (DWARF 4 writes them as members) take no room in the record.
bool IsStaticMember(const Attributes& attributes) {
  return attributes.Has(Slot::kExternal) || attributes.Has(Slot::kDeclaration);
}

std::optional<std::uint64_t> Optional(const Attributes& attributes, Slot slot) {
  if (!attributes.Has(slot)) return std::nullopt;
  return attributes.Get(slot);
}

}  // namespace

BitPlace PlaceBitField(const Attributes& member, std::uint64_t storage, bool little_endian) {
  const std::uint64_t size = member.Get(Slot::kBitSize);
  const std::uint64_t unit_bits = storage * 8;
  std::uint64_t bit = member.Get(Slot::kMemberLocation) * 8;
  if (member.Has(Slot::kDataBitOffset)) {
    bit += member.Get(Slot::kDataBitOffset);
  } else if (member.Has(Slot::kBitOffset)) {
    const std::uint64_t from_top = member.Get(Slot::kBitOffset);
    bit += little_endian ? member.Get(Slot::kByteSize, storage) * 8 - from_top - size : from_top;
  }
  if (unit_bits == 0) return {bit / 8, bit};
  std::uint64_t offset = bit / unit_bits * storage;
  // A packed bit-field can lie across two storage units: the unit is then taken to start at its first byte.
  if (bit - offset * 8 + size > unit_bits) offset = bit / 8;
  return {offset, bit};
}

void TextBudget::Spend(std::size_t bytes) {
  if (left_.fetch_sub(static_cast<std::int64_t>(bytes)) >= static_cast<std::int64_t>(bytes)) return;
  throw Error("DebugInfoDamaged",
              path_ +
                  ": the names and types in .debug_info are out of all proportion to its size; the file is "
                  "damaged or made to exhaust memory: rebuild it");
}

Record RecordBuilder::Build(UnitContext& unit, std::uint32_t id) {
  const Variant& variant = records_.variants()[id];
  Record record;
  const TypeDie die = chain_.Load(unit, variant.offset);
  record.name = chain_.RecordName(die);
  record.kind = KindOf(die.tag());
  record.size = die.attributes.Get(Slot::kByteSize);
  record.alignment = Optional(die.attributes, Slot::kAlignment);
  record.natural_alignment = chain_.RecordAlignment(die);
  record.is_typedef = *die.attributes.Text(Slot::kName) == 0 && !record.name.empty();
  if (die.attributes.Has(Slot::kDeclFile)) {
    record.file = unit.files().Path(die.attributes.Get(Slot::kDeclFile), unit.directory());
  }
  if (die.attributes.Has(Slot::kDeclLine)) {
    record.line = static_cast<std::uint32_t>(die.attributes.Get(Slot::kDeclLine));
  }
  record.unit = unit.name();
  record.units = variant.units;
  budget_.Spend(record.name.size() + record.file.size() + record.unit.size());
  AddMembers(die, id, record);
  return record;
}

void RecordBuilder::AddMembers(const TypeDie& record, std::uint32_t id, Record& result) {
  UnitContext& unit = *record.place.unit;
  ByteCursor cursor = unit.CursorAt(record.behind);
  Attributes attributes;
  while (record.abbreviation->has_children && !cursor.done()) {
    const DieHead head = unit.Head(cursor);
    if (head.abbreviation == nullptr) break;
    unit.Read(*head.abbreviation, cursor, attributes);
    const std::uint16_t tag = head.abbreviation->tag;
    const bool placed = !attributes.complex_location && !IsStaticMember(attributes);
    if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) && placed) {
      const auto index = static_cast<std::uint32_t>(result.members.size());
      TypeShape shape;
      if (attributes.Has(Slot::kType)) shape = chain_.ShapeOf(unit, attributes.Get(Slot::kType));
      result.members.push_back(BuildMember(unit, head, attributes, shape));
      const Member& member = result.members.back();
      budget_.Spend(member.name.size() + member.type.size() + member.declarator.size() +
                    member.target.size());
      if (shape.record) LinkRecord(shape.record, {id, index, ""}, result.members.back());
    }
    unit.StepOverChildren(*head.abbreviation, attributes, cursor);
  }
}

Member RecordBuilder::BuildMember(UnitContext& unit, const DieHead& head, const Attributes& attributes,
                                  const TypeShape& shape) {
  Member member;
  if (head.abbreviation->tag == DW_TAG_member) member.name = attributes.Text(Slot::kName);
  Columns columns = text_.Of(unit, attributes, member.name);
  member.type = std::move(columns.type);
  member.declarator = std::move(columns.declarator);
  member.offset = attributes.Get(Slot::kMemberLocation);
  member.size = shape.size;
  member.natural_alignment = shape.alignment;
  member.alignment = Optional(attributes, Slot::kAlignment);
  member.dimensions = shape.dimensions;
  member.flexible = shape.flexible;
  member.category = shape.category;
  member.target = shape.target;
  member.read_only_target = shape.read_only_target;
  if (attributes.Has(Slot::kDeclLine))
    member.line = static_cast<std::uint32_t>(attributes.Get(Slot::kDeclLine));
  if (attributes.Has(Slot::kBitSize)) {
    const BitPlace place = PlaceBitField(attributes, shape.size, unit.unit().file->little_endian());
    member.offset = place.offset;
    member.bit_offset = place.bit_offset;
    member.bit_size = attributes.Get(Slot::kBitSize);
  }
  return member;
}

// Ids come from the scan; a record that is only declared here waits for LinkDeclarations().
void RecordBuilder::LinkRecord(const DieRef& held, OpenMember place, Member& member) {
  const std::int64_t id = records_.IdOf(identity_.OfRecord(*held.unit, held.offset));
  if (id >= 0) {
    member.record = static_cast<std::uint32_t>(id);
    return;
  }
  place.name = chain_.RecordName(chain_.Load(*held.unit, held.offset));
  open_members_.push_back(std::move(place));
}

namespace {

std::unordered_map<std::string_view, std::uint32_t> MostUsedByName(const std::vector<Record>& records) {
  std::unordered_map<std::string_view, std::uint32_t> by_name;
  for (std::uint32_t id = 0; id < records.size(); ++id) {
    const auto [found, fresh] = by_name.try_emplace(records[id].name, id);
    if (!fresh && records[id].units > records[found->second].units) found->second = id;
  }
  return by_name;
}

}  // namespace

void LinkDeclarations(const std::vector<OpenMember>& open, std::vector<Record>& records) {
  if (open.empty()) return;
  const auto by_name = MostUsedByName(records);
  for (const OpenMember& place : open) {
    const auto found = by_name.find(place.name);
    if (place.name.empty() || found == by_name.end()) continue;
    const Record& definition = records[found->second];
    Member& member = records[place.owner].members[place.member];
    std::uint64_t size = definition.size;
    for (const std::uint64_t count : member.dimensions) {
      if (__builtin_mul_overflow(size, count, &size)) size = 0;
    }
    // Another record of that name is meant when this one does not fit.
    const Record& owner = records[place.owner];
    if (member.offset > owner.size || size > owner.size - member.offset) continue;
    member.record = found->second;
    member.size = size;
    member.natural_alignment =
        std::max({member.natural_alignment, definition.natural_alignment, definition.alignment.value_or(1)});
  }
}

}  // namespace linesmith
