// SPDX-License-Identifier: GPL-2.0-or-later
// What a type is once typedefs, qualifiers and arrays are taken off: size, alignment, category, record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dwarf/unit_pool.h"
#include "records/record.h"

namespace linesmith {

// Of typedefs, qualifiers and pointers; a longer one is a circle.
constexpr unsigned kLongestChain = 100;

// A DIE with its attributes decoded.
struct TypeDie {
  DieRef place;
  const Abbreviation* abbreviation = nullptr;
  const std::uint8_t* behind = nullptr;  // first byte behind the attributes: the first child, if any
  Attributes attributes;

  explicit operator bool() const { return abbreviation != nullptr; }
  std::uint16_t tag() const { return abbreviation->tag; }
};

// The ranks of one array type, outermost first; 0 for an open one.
struct ArrayBounds {
  std::vector<std::uint64_t> dimensions;
  bool flexible = false;  // the first rank has no bound
};

// Bytes and alignment as the ABI of the unit's machine counts them.
struct TypeShape {
  std::uint64_t size = 0;
  std::uint64_t alignment = 1;
  MemberCategory category = MemberCategory::kUnknown;
  std::vector<std::uint64_t> dimensions;
  bool flexible = false;
  DieRef record;  // the record held by value
  std::string target;
  bool read_only_target = false;
};

bool IsRecordTag(std::uint16_t tag);
bool IsQualifierTag(std::uint16_t tag);
// An array type that __attribute__((vector_size)) made (DW_AT_GNU_vector).
bool IsVector(const TypeDie& die);

// Walks along type references; never further than a fixed number of steps.
class TypeChain {
 public:
  explicit TypeChain(UnitPool& pool) : pool_(pool) {}

  UnitPool& pool() { return pool_; }
  // The DIE a reference means; false in a condition for `void`. Declarations with a signature lead to their
  // type unit.
  TypeDie Load(UnitContext& from, std::uint64_t reference);
  // The type that `die` refers to by DW_AT_type.
  TypeDie Next(const TypeDie& die);
  ArrayBounds Bounds(const TypeDie& array);
  TypeShape ShapeOf(UnitContext& from, std::uint64_t reference);
  TypeShape ShapeOf(const TypeDie& die);
  // The name under which a record is known: qualified, or its typedef's; "" for an anonymous one.
  std::string RecordName(const TypeDie& record);
  // Alignment that the members of a record need.
  std::uint64_t MemberAlignment(const TypeDie& record);
  std::uint64_t RecordAlignment(const TypeDie& record);

 private:
  void Resolve(TypeDie die, TypeShape& shape, unsigned depth);
  void ResolveVector(const TypeDie& vector, TypeShape& shape, unsigned depth);
  void ResolvePointer(const TypeDie& pointer, TypeShape& shape);
  void ResolveNamed(const TypeDie& die, TypeShape& shape);
  std::uint64_t ScalarAlignment(const TypeDie& die, std::uint64_t size) const;

  UnitPool& pool_;
  unsigned record_depth_ = 0;
  std::unordered_map<const Unit*, std::unordered_map<std::uint64_t, std::uint64_t>> alignments_;
};

}  // namespace linesmith
