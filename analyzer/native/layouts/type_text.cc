// SPDX-License-Identifier: GPL-2.0-or-later
#include "layouts/type_text.h"

#include <dwarf.h>

namespace linesmith {
namespace {

constexpr unsigned kDeepestFunction = 8;
constexpr std::size_t kLongestList = 2000;  // characters of a parameter list or an enumeration

std::string_view QualifierWord(std::uint16_t tag) {
  switch (tag) {
    case DW_TAG_const_type:
      return "const";
    case DW_TAG_volatile_type:
      return "volatile";
    case DW_TAG_restrict_type:
      return "restrict";
    default:
      return "_Atomic";
  }
}

std::string_view Keyword(std::uint16_t tag) {
  switch (tag) {
    case DW_TAG_structure_type:
      return "struct";
    case DW_TAG_union_type:
      return "union";
    case DW_TAG_class_type:
      return "class";
    case DW_TAG_enumeration_type:
      return "enum";
    default:
      return "";
  }
}

// Behind the type of the lanes: there C takes it for arrays of vectors and pointers to them, too.
std::string VectorWord(std::uint64_t bytes) {
  return " __attribute__((__vector_size__(" + std::to_string(bytes) + ")))";
}

}  // namespace

Columns TypeText::Of(UnitContext& from, const Attributes& member, std::string_view name) {
  TypeDie die;
  if (member.Has(Slot::kType)) die = chain_.Load(from, member.Get(Slot::kType));
  return Write(std::move(die), name, 0);
}

Columns TypeText::Write(TypeDie die, std::string_view name, unsigned depth) {
  Declarator declarator(name);
  std::string vector;
  for (unsigned steps = 0; die && steps < kLongestChain; ++steps) {
    const std::uint16_t tag = die.tag();
    if (IsQualifierTag(tag)) {
      declarator.AddQualifier(QualifierWord(tag));
    } else if (tag == DW_TAG_pointer_type) {
      declarator.AddPointer();
    } else if (IsVector(die)) {
      vector = VectorWord(chain_.ShapeOf(die).size);
    } else if (tag == DW_TAG_array_type) {
      const ArrayBounds bounds = chain_.Bounds(die);
      declarator.AddArray(bounds.dimensions, bounds.flexible);
    } else if (tag == DW_TAG_subroutine_type) {
      declarator.AddFunction(depth < kDeepestFunction ? Parameters(die, depth + 1) : "...");
    } else {
      break;
    }
    die = chain_.Next(die);
  }
  return declarator.Finish((die ? Specifier(die) : "void") + vector);
}

std::string TypeText::Specifier(const TypeDie& die) {
  const std::uint16_t tag = die.tag();
  const std::string_view name = die.attributes.Text(Slot::kName);
  if (tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type) {
    const Columns target = Write(chain_.Next(die), "", kDeepestFunction);
    return Join(target) + (tag == DW_TAG_reference_type ? " &" : " &&");
  }
  std::string text(Keyword(tag));
  if (!text.empty() && !name.empty()) text += ' ';
  text += name;
  if (tag == DW_TAG_enumeration_type && name.empty()) text += " {" + EnumerationBody(die) + "}";
  return text.empty() ? "void" : text;
}

std::string TypeText::Parameters(const TypeDie& function, unsigned depth) {
  std::string list;
  UnitContext& unit = *function.place.unit;
  ByteCursor cursor = unit.CursorAt(function.behind);
  Attributes attributes;
  while (function.abbreviation->has_children && !cursor.done()) {
    const DieHead head = unit.Head(cursor);
    if (head.abbreviation == nullptr) break;
    unit.Read(*head.abbreviation, cursor, attributes);
    const std::uint16_t tag = head.abbreviation->tag;
    if (tag == DW_TAG_formal_parameter || tag == DW_TAG_unspecified_parameters) {
      if (!list.empty()) list += ", ";
      if (list.size() > kLongestList) return list + "...";
      TypeDie type;
      if (attributes.Has(Slot::kType)) type = chain_.Load(unit, attributes.Get(Slot::kType));
      list += tag == DW_TAG_formal_parameter ? Join(Write(std::move(type), "", depth)) : "...";
    }
    unit.StepOverChildren(*head.abbreviation, attributes, cursor);
  }
  return list.empty() ? "void" : list;
}

std::string TypeText::EnumerationBody(const TypeDie& enumeration) {
  std::string list;
  UnitContext& unit = *enumeration.place.unit;
  ByteCursor cursor = unit.CursorAt(enumeration.behind);
  Attributes attributes;
  while (enumeration.abbreviation->has_children && !cursor.done()) {
    const DieHead head = unit.Head(cursor);
    if (head.abbreviation == nullptr) break;
    unit.Read(*head.abbreviation, cursor, attributes);
    if (head.abbreviation->tag == DW_TAG_enumerator) {
      if (!list.empty()) list += ", ";
      if (list.size() > kLongestList) return list + "...";
      list += attributes.Text(Slot::kName);
      list += " = " + std::to_string(static_cast<std::int64_t>(attributes.Get(Slot::kConstValue)));
    }
    unit.StepOverChildren(*head.abbreviation, attributes, cursor);
  }
  return list;
}

}  // namespace linesmith
