// SPDX-License-Identifier: GPL-2.0-or-later
#include "types/type_parts.h"

#include <algorithm>

namespace linesmith {
namespace {

// Real types nest a dozen deep; unions of unions could make a search of all arms endless.
constexpr unsigned kMostVisits = 400;
constexpr std::size_t kMostContents = 1 << 16;

}  // namespace

// One walk over all union arms that cover a place.
struct TypeParts::Search {
  std::uint32_t width = 0;
  unsigned visits = 0;
  unsigned depth = 0;
  bool number = false;
  bool disagreement = false;
  bool pointer = false;
  TypeId target = kVoid;

  void Found(TypeId pointee) {
    disagreement = disagreement || (pointer && pointee != target);
    pointer = true;
    target = pointee;
  }
  Content Result() const {
    if (pointer && !number && !disagreement) return {Content::Kind::kPointer, target};
    return {pointer || number ? Content::Kind::kNumber : Content::Kind::kNothing, kVoid};
  }
};

bool TypeParts::IsPlain(TypeId type) const {
  const TypeKind kind = graph_[type].kind;
  return kind == TypeKind::kScalar || kind == TypeKind::kPointer;
}

bool TypeParts::IsKnown(TypeId type) const {
  const TypeNode& node = graph_[type];
  switch (node.kind) {
    case TypeKind::kVoid:
    case TypeKind::kFunction:
      return false;
    case TypeKind::kRecord:
      return node.identity != 0;
    case TypeKind::kArray:
      return node.target != type && graph_[node.target].kind != TypeKind::kVoid;
    case TypeKind::kScalar:
    case TypeKind::kPointer:
      return node.size != 0;
  }
  return false;
}

Content TypeParts::ContentAt(TypeId type, std::int64_t offset, std::uint32_t width) {
  if (offset < 0) return {};
  const std::pair key(std::uint64_t{type} << 8 | (width & 0xff), offset);
  if (const auto known = contents_.find(key); known != contents_.end()) return known->second;
  if (contents_.size() > kMostContents) contents_.clear();
  Search search{.width = width};
  Collect(type, static_cast<std::uint64_t>(offset), search);
  return contents_[key] = search.Result();
}

void TypeParts::Collect(TypeId type, std::uint64_t offset, Search& search) {
  const TypeNode& node = graph_[type];
  if (++search.visits > kMostVisits || search.depth > kDeepestType) return;
  ++search.depth;
  if (node.kind == TypeKind::kPointer && offset == 0 && node.size == search.width) {
    search.Found(node.target);
  } else if (node.kind == TypeKind::kScalar || node.kind == TypeKind::kPointer) {
    search.number = true;
  } else if (node.kind == TypeKind::kArray) {
    const std::uint64_t element = graph_[node.target].size;
    if (element != 0) Collect(node.target, offset % element, search);
  } else if (node.kind == TypeKind::kRecord) {
    for (const Field& field : graph_.Fields(type)) {
      if (field.offset > offset) break;
      const bool open = field.size == 0 && (node.is_union || offset + search.width > node.size);
      if (offset - field.offset < field.size || open) Collect(field.type, offset - field.offset, search);
    }
  }
  --search.depth;
}

// The first member that covers a place; the open array at the end covers what lies behind it.
const Field* TypeParts::FieldAt(TypeId record, std::uint64_t offset) {
  const std::vector<Field>& fields = graph_.Fields(record);
  const auto end = std::ranges::upper_bound(fields, offset, {}, &Field::offset);
  const Field* found = nullptr;
  for (auto field = end; field != fields.begin();) {
    --field;
    if (offset - field->offset < field->size) found = &*field;
    if (found != nullptr && field->offset < found->offset) break;
    if (found == nullptr && end - field > 64) break;
  }
  if (found != nullptr || fields.empty()) return found;
  const Field& last = fields.back();
  return last.size == 0 && offset >= last.offset ? &last : nullptr;
}

// The first arm of unions is taken, and the first element of arrays.
template <typename Visit>
void TypeParts::Descend(TypeId type, std::int64_t offset, Visit visit) {
  if (offset < 0) return;
  Part part{type, static_cast<std::uint64_t>(offset)};
  for (unsigned depth = 0; depth < kDeepestType; ++depth) {
    const TypeNode& node = graph_[part.type];
    visit(node, part);
    if (node.kind == TypeKind::kArray) {
      const std::uint64_t element = graph_[node.target].size;
      if (element == 0) return;
      part = {node.target, part.offset % element};
    } else if (node.kind == TypeKind::kRecord) {
      const Field* field = FieldAt(part.type, part.offset);
      if (field == nullptr) return;
      part = {field->type, part.offset - field->offset};
    } else {
      return;
    }
  }
}

std::int64_t TypeParts::Wrapped(TypeId type, std::int64_t offset) const {
  const auto size = static_cast<std::int64_t>(graph_[type].size);
  return size > 0 ? Modulo(offset, size) : offset;
}

std::vector<Part> TypeParts::Holders(TypeId type, std::int64_t offset) {
  std::vector<Part> holders;
  Descend(type, offset, [&](const TypeNode& node, const Part& part) {
    if (node.kind != TypeKind::kArray) holders.push_back(part);
  });
  return holders;
}

bool TypeParts::Holds(TypeId whole, std::int64_t offset, TypeId part) {
  if (offset < 0) return false;
  if (whole == part && offset == 0) return true;
  return graph_.Holds(whole, static_cast<std::uint64_t>(offset), part);
}

}  // namespace linesmith
