// SPDX-License-Identifier: GPL-2.0-or-later
// Questions about places inside types: what a load gives, which element an index moves over.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "types/type_graph.h"

namespace linesmith {

constexpr unsigned kDeepestType = 40;

// The remainder that is never negative.
inline std::int64_t Modulo(std::int64_t number, std::int64_t divisor) {
  const std::int64_t rest = number % divisor;
  return rest < 0 ? rest + divisor : rest;
}

// What the bytes at a place of a type are when they are loaded.
struct Content {
  enum class Kind : std::uint8_t { kNothing, kNumber, kPointer };

  Kind kind = Kind::kNothing;
  TypeId target = kVoid;  // of a pointer: what it leads to
};

// Answers are remembered; a TypeGraph's pointers may lead elsewhere in the next unit (see TypeGraph), so
// one TypeParts serves one unit.
class TypeParts {
 public:
  explicit TypeParts(TypeGraph& graph) : graph_(graph) {}

  TypeGraph& graph() { return graph_; }

  // Whether accesses through a pointer to `type` can be resolved: not `void`, not merely declared, no code.
  bool IsKnown(TypeId type) const;
  // Whether `type` is a scalar or a pointer.
  bool IsPlain(TypeId type) const;
  // What `width` bytes at `offset` of `type` hold. Members of unions that lead to different types leave a
  // number: nobody knows which one is meant.
  Content ContentAt(TypeId type, std::int64_t offset, std::uint32_t width);
  // The place in the first element of the array that an index of `stride` bytes a step moves over, when it
  // starts at `offset` of `type`: an array inside, or `type` itself as one. Nothing when the strides do not
  // tell.
  std::optional<std::int64_t> Element(TypeId type, std::int64_t offset, std::uint32_t stride);
  // The same for steps that are known to be whole elements, and a start inside the array.
  std::optional<std::int64_t> WholeElement(TypeId type, std::int64_t offset, std::uint32_t stride);
  // Offset of a place of some element when `type` stands in an array of its own: modulo the size of `type`.
  std::int64_t Wrapped(TypeId type, std::int64_t offset) const;
  // The types that hold the place `offset` of `type`, outermost first, `type` itself included.
  std::vector<Part> Holders(TypeId type, std::int64_t offset);
  // Whether an object of type `part` lies at `offset` of `whole`.
  bool Holds(TypeId whole, std::int64_t offset, TypeId part);

 private:
  struct Search;
  struct PlaceHash {
    std::size_t operator()(const std::pair<std::uint64_t, std::int64_t>& place) const {
      return (place.first * 0x9e3779b97f4a7c15u) ^
             static_cast<std::uint64_t>(place.second) * 0xff51afd7ed558ccdu;
    }
  };

  // An array that `type` holds by value, outside of other arrays.
  struct InnerArray {
    std::int64_t start = 0;
    std::int64_t end = 0;  // an open one ends nowhere
    TypeId element = kVoid;
    std::int64_t size = 0;  // of an element

    bool Covers(std::int64_t offset) const { return offset >= start && offset < end; }
  };

  bool IsBeforeAnother(TypeId type, const InnerArray& array, std::int64_t offset);
  const std::vector<InnerArray>& ArraysOf(TypeId type);
  void CollectArrays(TypeId type, std::int64_t start, unsigned depth, std::vector<InnerArray>& arrays);
  std::optional<std::int64_t> InnerElement(TypeId type, std::int64_t offset, std::uint32_t stride);
  std::optional<std::int64_t> BeforeArray(TypeId type, std::int64_t offset, std::uint32_t stride);
  std::int64_t ElementSize(TypeId type) const;

  // Goes from `type` to the innermost type at `offset`, calling `visit` with each type that holds the place.
  template <typename Visit>
  void Descend(TypeId type, std::int64_t offset, Visit visit);
  void Collect(TypeId type, std::uint64_t offset, Search& search);
  const Field* FieldAt(TypeId record, std::uint64_t offset);

  TypeGraph& graph_;
  std::unordered_map<std::pair<std::uint64_t, std::int64_t>, Content, PlaceHash> contents_;
  std::unordered_map<TypeId, std::vector<InnerArray>> arrays_;
};

}  // namespace linesmith
