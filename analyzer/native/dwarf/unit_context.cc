// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/unit_context.h"

#include <dwarf.h>

namespace linesmith {
namespace {

std::uint64_t Reference(ReferenceKind kind, std::uint64_t value) {
  return static_cast<std::uint64_t>(kind) << kReferenceShift |
         (value & ((std::uint64_t{1} << kReferenceShift) - 1));
}

bool QualifiesNames(std::uint64_t language) {
  constexpr std::uint64_t kC17 = 0x2c;
  constexpr std::uint64_t kC23 = 0x3e;
  switch (language) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case kC17:
    case kC23:
    case DW_LANG_Mips_Assembler:
      return false;
    default:
      return true;
  }
}

}  // namespace

UnitContext::UnitContext(const Unit& unit, std::shared_ptr<const AbbreviationTable> abbreviations)
    : identities{OffsetMap((unit.end - unit.offset) / 16), {}},
      keys{OffsetMap(unit.end - unit.offset), {}},
      unit_(&unit),
      end_(unit.section.data() + unit.end),
      little_endian_(unit.file->little_endian()),
      native_order_(little_endian_ == (std::endian::native == std::endian::little)),
      facts_{unit.offset, &unit.file->sections().strings, abbreviations->constants()},
      abbreviations_(std::move(abbreviations)) {
  ReadRoot();
}

void UnitContext::ReadRoot() {
  const bool with_header = unit_->version >= 5;
  string_offsets_ = unit_->string_offsets;
  if (with_header) string_offsets_ += unit_->widths.offset_bytes == 8 ? 16 : 8;
  if (unit_->first_die >= unit_->end) return;
  // The base may stand behind the first indexed string: read twice.
  for (int pass = 0; pass < 2; ++pass) {
    ByteCursor cursor = CursorAt(unit_->section.data() + unit_->first_die);
    const DieHead head = Head(cursor);
    if (head.abbreviation == nullptr) return;
    root_ = {};
    Read(*head.abbreviation, cursor, root_);
    qualifies_names_ = QualifiesNames(root_.Get(Slot::kLanguage, DW_LANG_C_plus_plus));
    if (root_.Has(Slot::kStringOffsetsBase)) string_offsets_ = root_.Get(Slot::kStringOffsetsBase);
  }
}

DieHead UnitContext::HeadAt(std::uint64_t offset) const {
  if (!Contains(offset)) throw Truncated();
  ByteCursor cursor = CursorAt(unit_->section.data() + offset);
  const DieHead head = Head(cursor);
  if (head.abbreviation == nullptr) throw Truncated();
  return head;
}

void UnitContext::Run(StepRange program, ByteCursor& cursor, Attributes& attributes) const {
  attributes.Clear();
  const StringSection& strings = unit_->file->sections().strings;
  const unsigned offset_bytes = unit_->widths.offset_bytes;
  const FormStep* steps = abbreviations_->steps();
  for (std::uint32_t i = program.first; i < program.last; ++i) {
    const FormStep& step = steps[i];
    std::uint64_t value = 0;
    switch (step.form) {  // what most attributes are; ReadForm() knows all forms
      case 0:
        cursor.Skip(step.bytes);
        continue;
      case DW_FORM_data1:
        value = cursor.U8();
        break;
      case DW_FORM_data2:
        value = cursor.U16();
        break;
      case DW_FORM_implicit_const:
        value = static_cast<std::uint64_t>(step.implicit);
        break;
      case DW_FORM_ref4:
        value = Reference(ReferenceKind::kUnit, unit_->offset + cursor.U32());
        break;
      case DW_FORM_strp:
        value = reinterpret_cast<std::uint64_t>(strings.At(cursor.Unsigned(offset_bytes)));
        break;
      default:
        value = ReadForm(step, cursor, attributes);
    }
    if (step.slot != Slot::kNone) attributes.Set(step.slot, value);
  }
  if (attributes.complex_location) attributes.present &= ~SlotBit(Slot::kMemberLocation);
}

void UnitContext::StepVariable(const Abbreviation& abbreviation, ByteCursor& cursor) const {
  if (abbreviation.is_fixed) {
    cursor.String();
    return cursor.Skip(abbreviation.places_bytes);
  }
  const FormStep* steps = abbreviations_->steps();
  Attributes ignored;
  for (std::uint32_t i = abbreviation.skip.first; i < abbreviation.skip.last; ++i) {
    switch (steps[i].form) {
      case 0:
        cursor.Skip(steps[i].bytes);
        break;
      case DW_FORM_string:
        cursor.String();
        break;
      case DW_FORM_exprloc:
      case DW_FORM_block:
        cursor.Skip(cursor.Uleb());
        break;
      default:
        ReadForm(steps[i], cursor, ignored);
    }
  }
}

void UnitContext::StepToSibling(const Attributes& attributes, ByteCursor& cursor) const {
  if (attributes.Has(Slot::kSibling)) {
    const std::uint64_t sibling = attributes.Get(Slot::kSibling);
    if (sibling >> kReferenceShift == 0 && Contains(sibling)) {
      return cursor.ForwardTo(unit_->section.data() + sibling);
    }
  }
  std::size_t depth = 1;
  while (depth > 0 && !cursor.done()) {
    const DieHead head = Head(cursor);
    if (head.abbreviation == nullptr) {
      --depth;
    } else {
      Step(*head.abbreviation, cursor);
      if (head.abbreviation->has_children) ++depth;
    }
  }
}

std::uint64_t UnitContext::ReadForm(const FormStep& step, ByteCursor& cursor, Attributes& attributes) const {
  switch (step.form) {
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_addrx1:
      return cursor.U8();
    case DW_FORM_data2:
    case DW_FORM_addrx2:
      return cursor.U16();
    case DW_FORM_data4:
    case DW_FORM_addrx4:
      return cursor.U32();
    case DW_FORM_data8:
      return cursor.U64();
    case DW_FORM_udata:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
      return cursor.Uleb();
    case DW_FORM_sdata:
      return static_cast<std::uint64_t>(cursor.Sleb());
    case DW_FORM_implicit_const:
      return static_cast<std::uint64_t>(step.implicit);
    case DW_FORM_flag_present:
      return 1;
    case DW_FORM_sec_offset:
      return cursor.Unsigned(unit_->widths.offset_bytes);
    case DW_FORM_addr:
      return cursor.Unsigned(unit_->widths.address_bytes);
    case DW_FORM_addrx3:
      return cursor.U24();
    case DW_FORM_data16:
      cursor.Skip(16);
      return 0;
    case DW_FORM_ref4:
      return Reference(ReferenceKind::kUnit, unit_->offset + cursor.U32());
    case DW_FORM_exprloc:
    case DW_FORM_block:
      return Location(cursor, cursor.Uleb(), attributes);
    case DW_FORM_block1:
      return Location(cursor, cursor.U8(), attributes);
    case DW_FORM_block2:
      return Location(cursor, cursor.U16(), attributes);
    case DW_FORM_block4:
      return Location(cursor, cursor.U32(), attributes);
    case DW_FORM_indirect:
      return ReadIndirect(step, cursor, attributes);
    default:
      if (const char* text = ReadString(step.form, cursor)) {
        return reinterpret_cast<std::uint64_t>(text);
      }
      return ReadReference(step.form, cursor);
  }
}

std::uint64_t UnitContext::ReadIndirect(FormStep step, ByteCursor& cursor, Attributes& attributes) const {
  const std::uint64_t form = cursor.Uleb();
  if (form == DW_FORM_indirect || form == DW_FORM_implicit_const || form > 0xffff) throw Truncated();
  step.form = static_cast<std::uint16_t>(form);
  return ReadForm(step, cursor, attributes);
}

// Null for a form that is no string.
const char* UnitContext::ReadString(std::uint16_t form, ByteCursor& cursor) const {
  const DwarfSections& sections = unit_->file->sections();
  const unsigned offset_bytes = unit_->widths.offset_bytes;
  switch (form) {
    case DW_FORM_string:
      return cursor.String();
    case DW_FORM_strp:
      return sections.strings.At(cursor.Unsigned(offset_bytes));
    case DW_FORM_line_strp:
      return sections.line_strings.At(cursor.Unsigned(offset_bytes));
    case DW_FORM_strx:
    case DW_FORM_GNU_str_index:
      return IndexedString(cursor.Uleb());
    case DW_FORM_strx1:
      return IndexedString(cursor.U8());
    case DW_FORM_strx2:
      return IndexedString(cursor.U16());
    case DW_FORM_strx3:
      return IndexedString(cursor.U24());
    case DW_FORM_strx4:
      return IndexedString(cursor.U32());
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_strp_alt: {
      const std::uint64_t offset = cursor.Unsigned(offset_bytes);
      const DebugFile* supplement = unit_->file->supplement;
      return supplement != nullptr ? supplement->sections().strings.At(offset) : "";
    }
    default:
      return nullptr;
  }
}

std::uint64_t UnitContext::ReadReference(std::uint16_t form, ByteCursor& cursor) const {
  switch (form) {
    case DW_FORM_ref1:
      return Reference(ReferenceKind::kUnit, unit_->offset + cursor.U8());
    case DW_FORM_ref2:
      return Reference(ReferenceKind::kUnit, unit_->offset + cursor.U16());
    case DW_FORM_ref8:
      return Reference(ReferenceKind::kUnit, unit_->offset + cursor.U64());
    case DW_FORM_ref_udata:
      return Reference(ReferenceKind::kUnit, unit_->offset + cursor.Uleb());
    case DW_FORM_ref_addr:
      return Reference(ReferenceKind::kSection, cursor.Unsigned(unit_->widths.reference_bytes));
    case DW_FORM_GNU_ref_alt:
      return Reference(ReferenceKind::kSupplement, cursor.Unsigned(unit_->widths.offset_bytes));
    case DW_FORM_ref_sup4:
      return Reference(ReferenceKind::kSupplement, cursor.U32());
    case DW_FORM_ref_sup8:
      return Reference(ReferenceKind::kSupplement, cursor.U64());
    case DW_FORM_ref_sig8: {
      const Unit* target = unit_->file->TypeUnit(cursor.U64());
      return Reference(ReferenceKind::kSignature, target != nullptr ? target->index + 1 : 0);
    }
    default:
      throw Truncated();
  }
}

const char* UnitContext::IndexedString(std::uint64_t index) const {
  const Bytes table = unit_->file->sections().string_offsets;
  const unsigned width = unit_->widths.offset_bytes;
  if (string_offsets_ > table.size() || index >= (table.size() - string_offsets_) / width) return "";
  ByteCursor entry(table.subspan(string_offsets_ + index * width), unit_->file->little_endian());
  return unit_->file->sections().strings.At(entry.Unsigned(width));
}

// Member places written as expressions: `DW_OP_plus_uconst N` or `DW_OP_constu N`; anything else is computed
// at run time (virtual bases) and has no offset.
std::uint64_t UnitContext::Location(ByteCursor& cursor, std::uint64_t length, Attributes& attributes) const {
  const std::uint8_t* start = cursor.position();
  cursor.Skip(length);
  ByteCursor expression(start, cursor.position(), unit_->file->little_endian());
  if (length >= 2) {
    const std::uint8_t operation = expression.U8();
    if (operation == DW_OP_plus_uconst || operation == DW_OP_constu) {
      const std::uint64_t value = expression.Uleb();
      if (expression.done() || *expression.position() == DW_OP_plus) return value;
    }
  }
  attributes.complex_location = true;
  return 0;
}

const char* UnitContext::directory() const {
  return root_.Has(Slot::kCompilationDirectory) ? root_.Text(Slot::kCompilationDirectory)
                                                : unit_->skeleton_directory;
}

const LineFiles& UnitContext::files() {
  if (files_) return *files_;
  if (root_.Has(Slot::kStatementList)) {
    files_ = std::make_unique<LineFiles>(*unit_, root_.Get(Slot::kStatementList));
  } else if (unit_->skeleton != nullptr) {
    files_ = std::make_unique<LineFiles>(*unit_->skeleton, unit_->skeleton_lines);
  } else {
    files_ = std::make_unique<LineFiles>();
  }
  return *files_;
}

}  // namespace linesmith
