// SPDX-License-Identifier: GPL-2.0-or-later
// The nodes of a type graph, equal ones once.
#pragma once

#include <deque>
#include <unordered_map>

#include "types/type_graph.h"

namespace linesmith {

class TypeStore {
 public:
  TypeStore() { nodes_.emplace_back(); }

  const TypeNode& operator[](TypeId type) const { return nodes_[type]; }
  std::size_t size() const { return nodes_.size(); }

  TypeId Scalar(std::string_view name, std::uint64_t size);
  TypeId PointerTo(TypeId target, std::uint64_t size);
  // `size` in bytes, of all elements; 0 for an open one.
  TypeId ArrayOf(TypeId element, std::uint64_t size);
  TypeId FunctionOf(TypeId result);
  // A record by its identity (TypeIdentity::OfRecord); kVoid while it is not known.
  TypeId Record(std::uint64_t identity) const;
  TypeId AddRecord(const TypeNode& record);
  // A record of which only the name is known, by a hash of that.
  TypeId Declaration(std::uint64_t key, const TypeNode& named);
  // Lets a pointer to a declaration lead elsewhere.
  void Redirect(TypeId pointer, TypeId target) {
    nodes_[pointer].target = target;
    nodes_[pointer].target_declared = true;
  }

 private:
  TypeId Once(std::uint64_t key, const TypeNode& node);

  std::deque<TypeNode> nodes_;
  std::unordered_map<std::uint64_t, TypeId> known_;
};

}  // namespace linesmith
