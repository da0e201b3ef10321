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

BuiltRecord RecordBuilder::Build(UnitContext& unit, std::uint64_t offset) {
  BuiltRecord built;
  Record& record = built.record;
  const TypeDie die = chain_.Load(unit, offset);
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
  budget_.Spend(record.name.size() + record.file.size() + record.unit.size());
  AddMembers(die, built);
  return built;
}

void RecordBuilder::AddMembers(const TypeDie& record, BuiltRecord& result) {
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
      std::vector<Member>& members = result.record.members;
      TypeShape shape;
      if (attributes.Has(Slot::kType)) shape = chain_.ShapeOf(unit, attributes.Get(Slot::kType));
      members.push_back(BuildMember(unit, head, attributes, shape));
      const Member& member = members.back();
      budget_.Spend(member.name.size() + member.type.size() + member.declarator.size() +
                    member.target.size());
      if (const DieRef& held = shape.record) {
        result.held.push_back({.member = static_cast<std::uint32_t>(members.size() - 1),
                               .identity = identity_.OfRecord(*held.unit, held.offset),
                               .name = chain_.RecordName(chain_.Load(*held.unit, held.offset))});
        budget_.Spend(result.held.back().name.size());
      }
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

}  // namespace linesmith
