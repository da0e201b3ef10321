// SPDX-License-Identifier: GPL-2.0-or-later
// What the inference knows of the content of a register or a stack slot.
#pragma once

#include <cstdint>

#include "types/type_graph.h"

namespace linesmith {

// Ordered: where paths meet, a later kind wins over an earlier one, and two that disagree become kConflict.
// C gives each value one type, so a value that is used as a pointer is one on every path that leads there: an
// unknown value or a null that meets a pointer leaves the pointer. Only `void *` can hold one type on one
// path and another one on the other.
enum class ValueKind : std::uint8_t {
  kUnset,       // no path has led here yet
  kUnknown,     // `delta` bytes behind what `definition` made
  kNumber,      // no address as far as types say: `offset` + an unknown multiple of `stride`
  kConstant,    // the number `offset`, perhaps an address
  kPerCpuBase,  // what leads from an offset in the per-CPU block to this (or some) CPU's copy; + `offset`
  kPointer,     // `offset` bytes into an object of `type` (kVoid: of nobody knows what)
  kStack,       // `offset` bytes from the frame address (CFA)
  kConflict,
};

// Who said what the value is.
enum class Origin : std::uint8_t { kFlow, kVariable, kGlobal, kPerCpu };

// Values that are made at one place of the function and only copied since have one `definition`, so that what
// is learnt of one of them later holds for all. 0: several places, or nothing to learn.
using Definition = std::uint32_t;

struct Value {
  ValueKind kind = ValueKind::kUnset;
  Origin origin = Origin::kFlow;
  bool foreign = false;  // kUnknown: a word in memory that other functions may have written
  TypeId type = kVoid;
  std::int64_t offset = 0;
  Definition definition = 0;
  std::int32_t delta = 0;      // bytes between what `definition` made and this value
  std::uint32_t variable = 0;  // of kGlobal and kPerCpu: position in the inference's list of names
  // Of addresses, not 0: an unknown multiple of this many bytes has been added to `offset`. Numbers have 1 at
  // least.
  std::uint32_t stride = 0;

  bool operator==(const Value&) const = default;

  static Value Unknown(Definition definition = 0) {
    return {.kind = ValueKind::kUnknown, .definition = definition};
  }
  static Value Foreign() { return {.kind = ValueKind::kUnknown, .foreign = true}; }
  static Value Number(std::int64_t start = 0, std::uint32_t stride = 1) {
    return {.kind = ValueKind::kNumber, .offset = start, .stride = stride};
  }
  static Value Constant(std::int64_t number) { return {.kind = ValueKind::kConstant, .offset = number}; }
  static Value Pointer(TypeId type, std::int64_t offset = 0, Origin origin = Origin::kFlow) {
    return {.kind = ValueKind::kPointer, .origin = origin, .type = type, .offset = offset};
  }
  static Value Stack(std::int64_t offset) { return {.kind = ValueKind::kStack, .offset = offset}; }
  static Value PerCpuBase(std::int64_t offset = 0) {
    return {.kind = ValueKind::kPerCpuBase, .offset = offset};
  }
  // Somewhere in the frame.
  static Value Frame() { return {.kind = ValueKind::kStack, .stride = 1}; }
  static Value Conflict() { return {.kind = ValueKind::kConflict}; }

  bool IsPointer() const { return kind == ValueKind::kPointer; }
  // Whether nothing is known that an address could be resolved with.
  bool IsBlank() const { return kind <= ValueKind::kNumber; }
};

}  // namespace linesmith
