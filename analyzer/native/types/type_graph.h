// SPDX-License-Identifier: GPL-2.0-or-later
// Types as the inference needs them: what a pointer leads to and what lies where in a record.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dwarf/unit_pool.h"
#include "layouts/type_identity.h"

namespace linesmith {

// A type of one worker's graph; 0 is `void` and whatever could not be read.
using TypeId = std::uint32_t;
constexpr TypeId kVoid = 0;

enum class TypeKind : std::uint8_t { kVoid, kScalar, kPointer, kRecord, kArray, kFunction };

struct Field {
  std::uint64_t offset = 0;  // bytes; of a bit-field: of the first byte that holds one of its bits
  std::uint64_t size = 0;    // bytes
  TypeId type = kVoid;
};

struct TypeNode {
  TypeKind kind = TypeKind::kVoid;
  // Of a pointer: what it leads to; of an array: its innermost element; of a function: its result.
  TypeId target = kVoid;
  std::uint64_t size = 0;      // bytes; 0 where not known (declarations, open arrays)
  std::uint64_t identity = 0;  // of a record: TypeIdentity::OfRecord; 0 for a mere declaration
  std::string_view name;       // as the source names it, without the keyword; "" where it has none
  bool is_union = false;
  bool is_typedef = false;  // of a record: `name` is that of a typedef, so that C names it without a keyword
  bool target_declared = false;  // of a pointer: to a name, so that its target depends on the unit entered
};

// What lies at a place of a type.
struct Part {
  TypeId type = kVoid;
  std::uint64_t offset = 0;  // bytes into `type`
};

// One worker's types, each record once however many units describe it. Qualifiers and typedefs are taken off;
// typedefs of anonymous records name them. References into damage become kVoid.
//
// A record that refers to another one, which its unit only declares, is the same in units that define the
// other one. So what a pointer to a declared record leads to depends on the unit entered last: read the
// target of a pointer anew in each unit, and compare targets rather than pointers.
class TypeGraph {
 public:
  // A pool has one graph: the pool's units remember what the graph calls their types.
  explicit TypeGraph(UnitPool& pool);
  ~TypeGraph();

  UnitPool& pool();
  // From now on pointers lead to the records that `unit` defines. Where the unit takes types from others, as
  // with optimisation at link time, dwz or type units, also to what those define.
  void Enter(const UnitContext& unit);

  // The type that a decoded DW_AT_type of `unit` means.
  TypeId Of(UnitContext& unit, std::uint64_t reference);
  TypeId PointerTo(TypeId target);
  // Stays where it is as long as the graph lives.
  const TypeNode& operator[](TypeId type) const;
  // What a pointer leads to by its name alone, the same in every unit: a declaration.
  TypeId NamedTarget(TypeId pointer) const;
  std::size_t size() const;
  // Members of a record, anonymous ones included, by ascending offset; empty for others.
  const std::vector<Field>& Fields(TypeId record);

  // What `width` bytes at `offset` of `type` are: of nested records and arrays the innermost that covers
  // them. Of a union the member whose size is the width, else the first that covers. Nothing outside the
  // type, or where a hole lies. `width` 0: the innermost that begins at `offset`.
  std::optional<Part> Leaf(TypeId type, std::uint64_t offset, std::uint32_t width);
  // Whether an object of type `part` lies at `offset` of `whole`, however deep (any arm of a union, any
  // element of an array).
  bool Holds(TypeId whole, std::uint64_t offset, TypeId part);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace linesmith
