// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/abbreviation.h"

#include <dwarf.h>

#include <algorithm>
#include <array>
#include <span>

#include "elf/byte_cursor.h"

namespace linesmith {
namespace {

struct WantedAttribute {
  std::uint16_t attribute;
  Slot slot;
};

constexpr auto kWanted = std::to_array<WantedAttribute>({
    {DW_AT_name, Slot::kName},
    {DW_AT_type, Slot::kType},
    {DW_AT_byte_size, Slot::kByteSize},
    {DW_AT_data_member_location, Slot::kMemberLocation},
    {DW_AT_bit_offset, Slot::kBitOffset},
    {DW_AT_bit_size, Slot::kBitSize},
    {DW_AT_data_bit_offset, Slot::kDataBitOffset},
    {DW_AT_decl_file, Slot::kDeclFile},
    {DW_AT_decl_line, Slot::kDeclLine},
    {DW_AT_declaration, Slot::kDeclaration},
    {DW_AT_upper_bound, Slot::kUpperBound},
    {DW_AT_count, Slot::kCount},
    {DW_AT_alignment, Slot::kAlignment},
    {DW_AT_encoding, Slot::kEncoding},
    {DW_AT_const_value, Slot::kConstValue},
    {DW_AT_abstract_origin, Slot::kAbstractOrigin},
    {DW_AT_specification, Slot::kSpecification},
    {DW_AT_signature, Slot::kSignature},
    {DW_AT_low_pc, Slot::kLowPc},
    {DW_AT_ranges, Slot::kRanges},
    {DW_AT_sibling, Slot::kSibling},
    {DW_AT_stmt_list, Slot::kStatementList},
    {DW_AT_comp_dir, Slot::kCompilationDirectory},
    {DW_AT_language, Slot::kLanguage},
    {DW_AT_str_offsets_base, Slot::kStringOffsetsBase},
    {DW_AT_dwo_name, Slot::kDwoName},
    {DW_AT_GNU_dwo_name, Slot::kDwoName},
    {DW_AT_GNU_dwo_id, Slot::kDwoId},
    {DW_AT_GNU_vector, Slot::kVector},
    {DW_AT_linkage_name, Slot::kLinkageName},
    {DW_AT_MIPS_linkage_name, Slot::kLinkageName},
    {DW_AT_external, Slot::kExternal},
    {DW_AT_high_pc, Slot::kHighPc},
    {DW_AT_location, Slot::kLocation},
    {DW_AT_frame_base, Slot::kFrameBase},
    {DW_AT_call_file, Slot::kCallFile},
    {DW_AT_call_line, Slot::kCallLine},
    {DW_AT_addr_base, Slot::kAddressBase},
    {DW_AT_GNU_addr_base, Slot::kAddressBase},
    {DW_AT_rnglists_base, Slot::kRangeListsBase},
    {DW_AT_GNU_ranges_base, Slot::kRangeListsBase},
    {DW_AT_loclists_base, Slot::kLocationListsBase},
    {DW_AT_noreturn, Slot::kNoReturn},
    {DW_AT_data_location, Slot::kDataLocation},
});

// Slots of the standard attributes, by number; asked for every attribute of every abbreviation.
constexpr std::size_t kStandardAttributes = 256;
// Room for the table of a unit of C; larger ones take more.
constexpr std::size_t kUsualCodes = 256;

constexpr auto kSlots = [] {
  std::array<Slot, kStandardAttributes> slots{};
  slots.fill(Slot::kNone);
  for (const WantedAttribute& wanted : kWanted) {
    if (wanted.attribute < kStandardAttributes) slots[wanted.attribute] = wanted.slot;
  }
  return slots;
}();

Slot SlotOf(std::uint64_t attribute) {
  if (attribute < kStandardAttributes) return kSlots[attribute];
  for (const WantedAttribute& wanted : kWanted) {
    if (wanted.attribute == attribute) return wanted.slot;
  }
  return Slot::kNone;
}

// Bytes of a form that always has the same size in one unit; kVaries for others.
std::uint32_t FixedBytes(std::uint64_t form, const FormWidths& widths) {
  switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
      return 0;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
      return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
      return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
      return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4:
      return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
      return 8;
    case DW_FORM_data16:
      return 16;
    case DW_FORM_addr:
      return widths.address_bytes;
    case DW_FORM_ref_addr:
      return widths.reference_bytes;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_strp_alt:
    case DW_FORM_GNU_ref_alt:
      return widths.offset_bytes;
    default:
      return kVaries;
  }
}

bool IsVariableForm(std::uint64_t form) {
  switch (form) {
    case DW_FORM_string:
    case DW_FORM_block:
    case DW_FORM_block1:
    case DW_FORM_block2:
    case DW_FORM_block4:
    case DW_FORM_exprloc:
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_indirect:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
      return true;
    default:
      return false;
  }
}

bool IsText(std::uint64_t form) {
  switch (form) {
    case DW_FORM_string:
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_strp_alt:
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index:
      return true;
    default:
      return false;
  }
}

// Whether the wanted attribute can be decoded from its FixedPlace.
bool IsSimple(const FormStep& attribute) {
  const SlotSet slot = SlotBit(attribute.slot);
  switch (attribute.form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
    case DW_FORM_flag:
    case DW_FORM_data1:
    case DW_FORM_data2:
    case DW_FORM_data4:
    case DW_FORM_data8:
    case DW_FORM_sec_offset:
      return ((kReferenceSlots | kTextSlots) & slot) == 0;
    case DW_FORM_ref4:
      return (kReferenceSlots & slot) != 0;
    case DW_FORM_strp:
      return (kTextSlots & slot) != 0;
    default:
      return false;
  }
}

// Names are decoded to pointers: one that is not written as a string, or a number that is, must not be looked
// at. DW_FORM_indirect, which decides too late, is used by no compiler for what is wanted.
Slot SlotOf(std::uint64_t attribute, std::uint64_t form) {
  const Slot slot = SlotOf(attribute);
  if (slot == Slot::kNone || form == DW_FORM_indirect) return Slot::kNone;
  return IsText(form) == ((kTextSlots & SlotBit(slot)) != 0) ? slot : Slot::kNone;
}

ScanAction ActionOf(const Abbreviation& abbreviation) {
  switch (abbreviation.tag) {
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_class_type:
      return ScanAction::kRecord;
    case DW_TAG_typedef:
      return ScanAction::kTypedef;
    case DW_TAG_namespace:
    case DW_TAG_module:
      return ScanAction::kNamespace;
    case DW_TAG_enumeration_type:
    case DW_TAG_subroutine_type:
    case DW_TAG_array_type:
      return abbreviation.has_children && abbreviation.Has(Slot::kSibling) ? ScanAction::kJump
                                                                           : ScanAction::kStep;
    default:
      return ScanAction::kStep;
  }
}

}  // namespace

AbbreviationTable::AbbreviationTable(Bytes section, std::uint64_t offset, FormWidths widths)
    : widths_(widths) {
  if (offset > section.size()) throw Truncated();
  ByteCursor cursor(section.subspan(offset), true);
  std::vector<FormStep> attributes;
  dense_.reserve(kUsualCodes);
  steps_.reserve(kUsualCodes * 5);
  while (const std::uint64_t code = cursor.Uleb()) {
    Abbreviation abbreviation;
    abbreviation.tag = static_cast<std::uint16_t>(cursor.Uleb());
    abbreviation.has_children = cursor.U8() != 0;
    attributes.clear();
    while (true) {
      const std::uint64_t attribute = cursor.Uleb();
      const std::uint64_t form = cursor.Uleb();
      const std::int64_t implicit = form == DW_FORM_implicit_const ? cursor.Sleb() : 0;
      if (attribute == 0 && form == 0) break;
      attributes.push_back({.form = static_cast<std::uint16_t>(form),
                            .slot = SlotOf(attribute, form),
                            .bytes = FixedBytes(static_cast<std::uint16_t>(form), widths_),
                            .implicit = implicit});
    }
    Compile(abbreviation, attributes);
    abbreviation.action = ActionOf(abbreviation);
    Add(code, abbreviation);
    if (cursor.done()) break;
  }
  bytes_ = section.size() - offset - cursor.left();
}

const Abbreviation* AbbreviationTable::FindSparse(std::uint64_t code) const {
  const auto found = sparse_.find(code);
  return found != sparse_.end() ? &found->second : nullptr;
}

void AbbreviationTable::Add(std::uint64_t code, Abbreviation abbreviation) {
  if (code == dense_.size() + 1) {
    dense_.push_back(abbreviation);
    const bool plain = abbreviation.action == ScanAction::kStep && !abbreviation.has_children;
    if (plain && code < 0x80 && abbreviation.fixed_bytes >= 0 && abbreviation.fixed_bytes < 0xff) {
      plain_sizes_[code] = static_cast<std::uint8_t>(abbreviation.fixed_bytes + 1);
    }
  } else if (Find(code) == nullptr) {
    sparse_.emplace(code, abbreviation);
  }
}

void AbbreviationTable::Compile(Abbreviation& abbreviation, const std::vector<FormStep>& attributes) {
  std::uint64_t fixed_total = 0;
  bool fixed = true;
  for (const FormStep& attribute : attributes) {
    const bool varies = attribute.bytes == kVaries;
    if (varies && !IsVariableForm(attribute.form)) throw Truncated();
    if (attribute.slot != Slot::kNone) abbreviation.slots |= SlotBit(attribute.slot);
    fixed = fixed && !varies;
    fixed_total += varies ? 0 : attribute.bytes;
  }
  if (fixed && fixed_total < INT32_MAX) abbreviation.fixed_bytes = static_cast<std::int32_t>(fixed_total);
  if (abbreviation.fixed_bytes < 0) abbreviation.skip = Assemble(attributes, 0);
  abbreviation.read = Assemble(attributes, ~SlotSet{0});
  abbreviation.is_fixed = FindPlaces(abbreviation, attributes);
}

bool AbbreviationTable::FindPlaces(Abbreviation& abbreviation, const std::vector<FormStep>& attributes) {
  std::span<const FormStep> fixed = attributes;
  abbreviation.name_first = !fixed.empty() && fixed[0].slot == Slot::kName && fixed[0].form == DW_FORM_string;
  if (abbreviation.name_first) fixed = fixed.subspan(1);
  abbreviation.first_constant = static_cast<std::uint32_t>(constants_.size());
  std::uint32_t end = 0;
  for (const FormStep& attribute : fixed) {
    if (attribute.bytes > UINT8_MAX || (attribute.slot != Slot::kNone && !IsSimple(attribute))) return false;
    end += attribute.bytes;
    const std::size_t constant = constants_.size() - abbreviation.first_constant;
    if (end > UINT8_MAX || constant > UINT8_MAX) return false;
    if (attribute.slot == Slot::kNone) continue;
    FixedPlace& place = abbreviation.places[static_cast<unsigned>(attribute.slot)];
    place.other_bits = static_cast<std::uint8_t>(64 - 8 * attribute.bytes);
    place.end = static_cast<std::uint8_t>(attribute.bytes > 0 ? end : constant);
    if (attribute.bytes > 0) continue;
    constants_.push_back(
        attribute.form == DW_FORM_flag_present ? 1 : static_cast<std::uint64_t>(attribute.implicit));
  }
  abbreviation.places_bytes = static_cast<std::uint8_t>(end);
  return true;
}

// A program that decodes the attributes in `slots` and steps over the others, as few steps as possible.
StepRange AbbreviationTable::Assemble(const std::vector<FormStep>& attributes, SlotSet slots) {
  const std::size_t first = steps_.size();
  for (FormStep step : attributes) {
    if (step.slot != Slot::kNone && (slots & SlotBit(step.slot)) != 0) {
      steps_.push_back(step);
      continue;
    }
    step.slot = Slot::kNone;
    if (step.bytes != kVaries) step.form = 0;
    if (step.form == 0 && step.bytes == 0) continue;
    if (step.form == 0 && steps_.size() > first && steps_.back().form == 0) {
      steps_.back().bytes += step.bytes;
    } else {
      steps_.push_back(step);
    }
  }
  return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(steps_.size())};
}

}  // namespace linesmith
