// SPDX-License-Identifier: GPL-2.0-or-later
// Which array an index moves over.
#include <algorithm>
#include <limits>

#include "types/type_parts.h"

namespace linesmith {
namespace {

constexpr std::size_t kMostArrays = 1000;
// An index of a known scale is the position of an element; one of a byte may be any distance.
constexpr std::int64_t kSmallestScale = 4;
constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();
// An open array may begin in the padding at the end of its record.
constexpr std::int64_t kLargestPadding = 8;

}  // namespace

// What a step of an array of `type` is; of an array itself its element.
std::int64_t TypeParts::ElementSize(TypeId type) const {
  const TypeNode& node = graph_[type];
  const TypeNode& element = node.kind == TypeKind::kArray ? graph_[node.target] : node;
  return static_cast<std::int64_t>(element.size);
}

const std::vector<TypeParts::InnerArray>& TypeParts::ArraysOf(TypeId type) {
  const auto [place, fresh] = arrays_.try_emplace(type);
  if (!fresh) return place->second;
  CollectArrays(type, 0, 0, place->second);
  // One without elements in the middle is a mark, not an array that goes on.
  const auto size = static_cast<std::int64_t>(graph_[type].size);
  std::erase_if(place->second, [&](const InnerArray& array) {
    return array.end == kNoEnd && array.start + kLargestPadding < size;
  });
  return place->second;
}

void TypeParts::CollectArrays(TypeId type, std::int64_t start, unsigned depth,
                              std::vector<InnerArray>& arrays) {
  if (depth > kDeepestType || arrays.size() >= kMostArrays) return;
  const TypeNode& node = graph_[type];
  if (node.kind == TypeKind::kArray) {
    const auto size = static_cast<std::int64_t>(graph_[node.target].size);
    if (size == 0) return;
    const auto bytes = static_cast<std::int64_t>(node.size);
    const std::int64_t end = bytes == 0 ? kNoEnd : start + bytes;
    arrays.push_back({start, end, node.target, size});
  } else if (node.kind == TypeKind::kRecord) {
    for (const Field& field : graph_.Fields(type)) {
      CollectArrays(field.type, start + static_cast<std::int64_t>(field.offset), depth + 1, arrays);
    }
  }
}

// One step before another array of such elements: either may be meant.
bool TypeParts::IsBeforeAnother(TypeId type, const InnerArray& array, std::int64_t offset) {
  const bool last = offset + array.size >= array.end && array.end - array.start > array.size;
  return last && std::ranges::any_of(ArraysOf(type), [&](const InnerArray& next) {
           return next.start == array.end && next.size == array.size;
         });
}

std::optional<std::int64_t> TypeParts::WholeElement(TypeId type, std::int64_t offset, std::uint32_t stride) {
  const std::int64_t size = ElementSize(type);
  if (stride == 0 || size == 0) return std::nullopt;
  if (graph_[type].kind != TypeKind::kRecord) {
    if (stride % size == 0) return Modulo(offset, size);
    const TypeNode& node = graph_[type];
    if (node.kind != TypeKind::kArray) return std::nullopt;
    return WholeElement(node.target, Modulo(offset, size), stride);
  }
  const InnerArray* found = nullptr;
  for (const InnerArray& array : ArraysOf(type)) {
    if (!array.Covers(offset)) continue;
    if (stride % array.size == 0) {
      found = &array;
    } else if (const auto inner =
                   WholeElement(array.element, Modulo(offset - array.start, array.size), stride)) {
      return array.start + *inner;
    }
  }
  if (found != nullptr) {
    if (IsBeforeAnother(type, *found, offset)) return std::nullopt;
    return found->start + Modulo(offset - found->start, found->size);
  }
  return stride % size == 0 ? std::optional(Modulo(offset, size)) : std::nullopt;
}

// The array that covers the start, whatever its elements are.
std::optional<std::int64_t> TypeParts::InnerElement(TypeId type, std::int64_t offset, std::uint32_t stride) {
  for (const InnerArray& array : ArraysOf(type)) {
    // Any number of bytes may lead out of the array again.
    const bool fits = stride % array.size == 0 || (stride > 1 && array.size % stride == 0);
    if (!array.Covers(offset) || !fits) continue;
    if (IsBeforeAnother(type, array, offset)) return std::nullopt;
    return array.start + Modulo(offset - array.start, array.size);
  }
  return std::nullopt;
}

// An index that does not start at 0 leaves its start outside of the array. Only one array of such elements
// can be meant.
std::optional<std::int64_t> TypeParts::BeforeArray(TypeId type, std::int64_t offset, std::uint32_t stride) {
  const InnerArray* only = nullptr;
  for (const InnerArray& array : ArraysOf(type)) {
    if (array.size != stride || stride == 1) continue;
    if (only != nullptr) return std::nullopt;
    only = &array;
  }
  if (only == nullptr) return std::nullopt;
  return only->start + Modulo(offset - only->start, only->size);
}

std::optional<std::int64_t> TypeParts::Element(TypeId type, std::int64_t offset, std::uint32_t stride) {
  if (stride == 0) return offset;
  const std::int64_t size = ElementSize(type);
  if (size == 0) return std::nullopt;
  if (IsPlain(type)) return Modulo(offset, size);
  if (const auto whole = WholeElement(type, offset, stride)) return whole;
  const TypeNode& node = graph_[type];
  if (node.kind == TypeKind::kArray) {
    const std::int64_t place = Modulo(offset, size);
    const std::optional<std::int64_t> inner = Element(node.target, place, stride);
    return inner || size % stride != 0 ? inner : place;
  }
  if (const auto before = BeforeArray(type, offset, stride)) return before;
  if (const auto inner = InnerElement(type, offset, stride)) return inner;
  for (const InnerArray& array : ArraysOf(type)) {
    if (array.size == stride) return std::nullopt;
  }
  // A position that was multiplied before in a way that was not seen.
  const bool inside = offset >= 0 && offset < size;
  return inside && stride >= kSmallestScale && size % stride == 0 ? std::optional(offset) : std::nullopt;
}

}  // namespace linesmith
