// SPDX-License-Identifier: GPL-2.0-or-later
#include "types/type_spelling.h"

#include <dwarf.h>

#include "base/error.h"

namespace linesmith {
namespace {

constexpr unsigned kDeepestPointer = 20;

std::string_view KeywordOf(std::uint16_t tag) {
  switch (tag) {
    case DW_TAG_union_type:
      return "union ";
    case DW_TAG_class_type:
      return "class ";
    default:
      return "struct ";
  }
}

}  // namespace

std::string TypeSpelling::Of(TypeGraph& graph, TypeId type) {
  std::string stars;
  for (unsigned depth = 0; depth < kDeepestPointer; ++depth) {
    const TypeNode& node = graph[type];
    switch (node.kind) {
      case TypeKind::kRecord:
        return OfRecord(node) + stars;
      case TypeKind::kPointer:
        stars += stars.empty() ? " *" : "*";
        type = graph.NamedTarget(type);
        break;
      case TypeKind::kArray:
        type = node.target;
        break;
      case TypeKind::kFunction:
        return "(function)" + stars;
      case TypeKind::kScalar:
      case TypeKind::kVoid:
        return std::string(node.name.empty() ? "void" : node.name) + stars;
    }
  }
  return "void" + stars;
}

std::string TypeSpelling::OfRecord(const TypeNode& record) {
  const std::string name(record.name);
  const std::int64_t id = records_.IdOf(record.identity);
  if (record.is_typedef) return name;
  if (id < 0) return KeywordOf(record.is_union ? DW_TAG_union_type : DW_TAG_structure_type).data() + name;
  const Variant& variant = records_.variants()[static_cast<std::size_t>(id)];
  try {
    UnitContext& unit = chain_.pool().Open(*chain_.pool().info().units[variant.unit]);
    const TypeDie die = chain_.Load(unit, variant.offset);
    return std::string(KeywordOf(die.tag())) + (name.empty() ? "{...}" : name);
  } catch (const Truncated&) {
  } catch (const Error&) {
  }
  return name;
}

}  // namespace linesmith
