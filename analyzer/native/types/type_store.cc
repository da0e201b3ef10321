// SPDX-License-Identifier: GPL-2.0-or-later
#include "types/type_store.h"

#include <functional>

#include "base/content_hash.h"

namespace linesmith {
namespace {

std::uint64_t KeyOf(TypeKind kind, std::uint64_t what, std::uint64_t size) {
  return MixHash(MixHash(static_cast<std::uint64_t>(kind), what), size);
}

}  // namespace

TypeId TypeStore::Once(std::uint64_t key, const TypeNode& node) {
  const auto [known, fresh] = known_.try_emplace(key, static_cast<TypeId>(nodes_.size()));
  if (fresh) nodes_.push_back(node);
  return known->second;
}

TypeId TypeStore::Scalar(std::string_view name, std::uint64_t size) {
  TypeNode node;
  node.kind = TypeKind::kScalar;
  node.size = size;
  node.name = name;
  return Once(KeyOf(TypeKind::kScalar, std::hash<std::string_view>()(name), size), node);
}

TypeId TypeStore::PointerTo(TypeId target, std::uint64_t size) {
  TypeNode node;
  node.kind = TypeKind::kPointer;
  node.target = target;
  node.size = size;
  return Once(KeyOf(TypeKind::kPointer, target, size), node);
}

TypeId TypeStore::ArrayOf(TypeId element, std::uint64_t size) {
  TypeNode node;
  node.kind = TypeKind::kArray;
  node.target = element;
  node.size = size;
  return Once(KeyOf(TypeKind::kArray, element, size), node);
}

TypeId TypeStore::FunctionOf(TypeId result) {
  TypeNode node;
  node.kind = TypeKind::kFunction;
  node.target = result;
  return Once(KeyOf(TypeKind::kFunction, result, 0), node);
}

TypeId TypeStore::Record(std::uint64_t identity) const {
  const auto known = known_.find(KeyOf(TypeKind::kRecord, identity, 1));
  return known != known_.end() ? known->second : kVoid;
}

TypeId TypeStore::AddRecord(const TypeNode& record) {
  return Once(KeyOf(TypeKind::kRecord, record.identity, 1), record);
}

TypeId TypeStore::Declaration(std::uint64_t key, const TypeNode& named) {
  TypeNode node;
  node.kind = TypeKind::kRecord;
  node.name = named.name;
  node.is_union = named.is_union;
  node.is_typedef = named.is_typedef;
  return Once(KeyOf(TypeKind::kRecord, MixHash(key, named.is_typedef ? 1 : 0), 0), node);
}

}  // namespace linesmith
