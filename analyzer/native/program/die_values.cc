// SPDX-License-Identifier: GPL-2.0-or-later
#include "program/die_values.h"

#include <dwarf.h>

namespace linesmith {
namespace {

// An inlined variable refers to its abstract instance, that to a declaration; longer chains are loops.
constexpr unsigned kLongestOrigin = 8;

// Length of a block of this form; the cursor moves to its first byte. False for other forms.
bool EnterBlock(std::uint16_t form, ByteCursor& cursor, std::uint64_t& length) {
  switch (form) {
    case DW_FORM_exprloc:
    case DW_FORM_block:
      length = cursor.Uleb();
      return true;
    case DW_FORM_block1:
      length = cursor.U8();
      return true;
    case DW_FORM_block2:
      length = cursor.U16();
      return true;
    case DW_FORM_block4:
      length = cursor.U32();
      return true;
    default:
      return false;
  }
}

void KeepBlock(Slot slot, Bytes block, DieValues& values) {
  if (slot == Slot::kLocation) values.location = block;
  if (slot == Slot::kFrameBase) values.frame_base = block;
}

}  // namespace

void ReadValues(const UnitContext& unit, const Abbreviation& abbreviation, ByteCursor& cursor,
                DieValues& values) {
  values.attributes.Clear();
  values.location = values.frame_base = {};
  const FormStep* steps = unit.abbreviations().steps();
  for (std::uint32_t i = abbreviation.read.first; i < abbreviation.read.last; ++i) {
    const FormStep& step = steps[i];
    std::uint64_t length = 0;
    if (step.form == 0) {
      cursor.Skip(step.bytes);
    } else if (EnterBlock(step.form, cursor, length)) {
      const std::uint8_t* block = cursor.position();
      cursor.Skip(length);
      KeepBlock(step.slot, {block, length}, values);
    } else {
      const std::uint64_t value = unit.ReadForm(step, cursor, values.attributes);
      if (step.slot == Slot::kNone) continue;
      values.attributes.Set(step.slot, value);
      values.forms[static_cast<unsigned>(step.slot)] = step.form;
    }
  }
}

DieRef OriginOf(UnitPool& pool, UnitContext& unit, const DieValues& values) {
  for (const Slot slot : {Slot::kAbstractOrigin, Slot::kSpecification}) {
    if (values.Has(slot)) return pool.Follow(unit, values.Get(slot));
  }
  return {};
}

Declared DeclaredAt(UnitPool& pool, DieRef die) {
  Declared declared;
  DieValues values;
  for (unsigned steps = 0; die && steps < kLongestOrigin; ++steps) {
    const DieHead head = die.unit->HeadAt(die.offset);
    ByteCursor cursor = die.unit->CursorAt(head.attributes);
    ReadValues(*die.unit, *head.abbreviation, cursor, values);
    if (*declared.name == 0) declared.name = values.Text(Slot::kName);
    declared.never_returns |= values.Has(Slot::kNoReturn);
    if (declared.type_unit == nullptr && values.Has(Slot::kType)) {
      declared.type_unit = die.unit;
      declared.type_offset = values.Get(Slot::kType);
    }
    if (*declared.name != 0 && declared.type_unit != nullptr) break;
    die = OriginOf(pool, *die.unit, values);
  }
  return declared;
}

}  // namespace linesmith
