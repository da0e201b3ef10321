// SPDX-License-Identifier: GPL-2.0-or-later
// Records and arrays for the tests of the type graph, and its answers in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dwarf_builder.h"

namespace linesmith {

inline DieAttribute Size(std::uint64_t bytes) { return Amount(DW_AT_byte_size, bytes); }

inline void Member(DwarfBuilder& builder, const std::string& name, std::uint64_t type, std::uint64_t offset) {
  builder.Die(DW_TAG_member,
              {Name(name), Reference(DW_AT_type, type), Amount(DW_AT_data_member_location, offset)});
}

inline std::uint64_t Array(DwarfBuilder& builder, std::uint64_t element,
                           const std::vector<std::uint64_t>& counts) {
  const std::uint64_t array = builder.Open(DW_TAG_array_type, {Reference(DW_AT_type, element)});
  for (const std::uint64_t count : counts) builder.Die(DW_TAG_subrange_type, {Amount(DW_AT_count, count)});
  builder.Close();
  return array;
}

// What a unit calls the type of the DIE at `offset`.
inline TypeId TypeAt(ReadFile& file, std::uint64_t offset, std::size_t unit = 0) {
  return file.graph.Of(file.unit(unit), file.unit(unit).unit().offset + offset);
}

// Where a Leaf() is: the type's name, "*" for pointers, and the offset into it; "none".
inline std::string LeafAt(ReadFile& file, TypeId type, std::uint64_t offset, std::uint32_t width) {
  const std::optional<Part> part = file.graph.Leaf(type, offset, width);
  if (!part) return "none";
  const TypeNode& node = file.graph[part->type];
  std::string text = node.kind == TypeKind::kPointer ? "*" : std::string(node.name);
  if (node.kind == TypeKind::kArray) text = "[]";
  return text + "+" + std::to_string(part->offset);
}

}  // namespace linesmith
