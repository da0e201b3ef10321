// SPDX-License-Identifier: GPL-2.0-or-later
// What lies at a place of a type: descending through records, unions and arrays.
#include <algorithm>

#include "types/type_graph.h"

namespace linesmith {
namespace {

// Unions of records of unions make several ways down; a file that has more than this is made to cost time.
constexpr unsigned kMostSteps = 20'000;
constexpr unsigned kDeepestNesting = 100;

// A stretch of bytes of some type.
struct Stretch {
  TypeId type = kVoid;
  std::uint64_t offset = 0;
  std::uint64_t width = 1;
};

class Descent {
 public:
  explicit Descent(TypeGraph& graph) : graph_(graph) {}

  std::optional<Part> Leaf(const Stretch& at, unsigned depth);
  bool Holds(const Stretch& at, TypeId part, unsigned depth);

 private:
  std::optional<Part> LeafOfRecord(const Stretch& at, unsigned depth);
  std::optional<Part> LeafOfArray(const Stretch& at, unsigned depth);
  bool Exhausted(unsigned depth) { return depth > kDeepestNesting || ++steps_ > kMostSteps; }

  TypeGraph& graph_;
  unsigned steps_ = 0;
};

bool Covers(const Field& field, std::uint64_t offset, std::uint64_t width) {
  if (field.offset > offset) return false;
  const std::uint64_t within = offset - field.offset;
  return within < field.size && width <= field.size - within;
}

// Whether `field` may reach behind its own end: an open array, or a record that may end in one, where nothing
// lies behind it.
bool IsOpen(TypeGraph& graph, const std::vector<Field>& fields, const Field& field) {
  if (field.offset != fields.back().offset) return false;
  const TypeKind kind = graph[field.type].kind;
  return kind == TypeKind::kRecord || (kind == TypeKind::kArray && field.size == 0);
}

bool Touches(const Field& field, std::uint64_t offset, std::uint64_t width) {
  return field.offset < offset + width && offset < field.offset + field.size;
}

std::optional<Part> Descent::LeafOfRecord(const Stretch& at, unsigned depth) {
  const std::vector<Field>& fields = graph_.Fields(at.type);
  std::optional<Part> first;
  bool covered = false;
  for (const Field& field : fields) {
    if (field.offset > at.offset) break;
    if (++steps_ > kMostSteps) return std::nullopt;
    if (!Covers(field, at.offset, at.width)) continue;
    covered = true;
    const std::optional<Part> part = Leaf({field.type, at.offset - field.offset, at.width}, depth + 1);
    if (!part) continue;
    if (graph_[part->type].size == at.width) return part;
    if (!first) first = part;
  }
  if (first || covered) return first;  // covered, but by holes only
  if (std::ranges::any_of(fields, [&](const Field& f) { return Touches(f, at.offset, at.width); })) {
    return Part{at.type, at.offset};
  }
  for (const Field& field : fields) {
    if (field.offset > at.offset || !IsOpen(graph_, fields, field)) continue;
    first = Leaf({field.type, at.offset - field.offset, at.width}, depth + 1);
    if (first) return first;
  }
  return std::nullopt;
}

std::optional<Part> Descent::LeafOfArray(const Stretch& at, unsigned depth) {
  const TypeNode& array = graph_[at.type];
  const std::uint64_t element = graph_[array.target].size;
  if (element == 0 || (array.size != 0 && at.offset >= array.size)) return std::nullopt;
  const std::uint64_t within = at.offset % element;
  if (at.width > element - within) return Part{at.type, at.offset};
  return Leaf({array.target, within, at.width}, depth + 1);
}

std::optional<Part> Descent::Leaf(const Stretch& at, unsigned depth) {
  if (Exhausted(depth)) return std::nullopt;
  const TypeNode& node = graph_[at.type];
  switch (node.kind) {
    case TypeKind::kRecord:
      return LeafOfRecord(at, depth);
    case TypeKind::kArray:
      return LeafOfArray(at, depth);
    case TypeKind::kScalar:
    case TypeKind::kPointer:
      if (at.offset >= node.size || at.width > node.size - at.offset) return std::nullopt;
      return Part{at.type, at.offset};
    default:
      return std::nullopt;
  }
}

bool Descent::Holds(const Stretch& at, TypeId part, unsigned depth) {
  if (at.type == part && at.offset == 0) return true;
  if (Exhausted(depth)) return false;
  const TypeNode& node = graph_[at.type];
  if (node.kind == TypeKind::kArray) {
    const std::uint64_t element = graph_[node.target].size;
    const bool inside = element != 0 && (node.size == 0 || at.offset < node.size);
    return inside && Holds({node.target, at.offset % element}, part, depth + 1);
  }
  if (node.kind != TypeKind::kRecord) return false;
  const std::vector<Field>& fields = graph_.Fields(at.type);
  return std::ranges::any_of(fields, [&](const Field& field) {
    if (field.offset > at.offset) return false;
    const bool inside = at.offset - field.offset < field.size || IsOpen(graph_, fields, field);
    return inside && Holds({field.type, at.offset - field.offset}, part, depth + 1);
  });
}

}  // namespace

std::optional<Part> TypeGraph::Leaf(TypeId type, std::uint64_t offset, std::uint32_t width) {
  const std::optional<Part> part = Descent(*this).Leaf({type, offset, std::max<std::uint32_t>(width, 1)}, 0);
  return part && width == 0 && part->offset != 0 ? std::nullopt : part;
}

bool TypeGraph::Holds(TypeId whole, std::uint64_t offset, TypeId part) {
  return Descent(*this).Holds({whole, offset}, part, 0);
}

}  // namespace linesmith
