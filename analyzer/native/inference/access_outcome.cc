// SPDX-License-Identifier: GPL-2.0-or-later
#include "inference/access_outcome.h"

namespace linesmith {
namespace {

Outcome OutcomeOf(Origin origin) {
  switch (origin) {
    case Origin::kVariable:
      return Outcome::kVariable;
    case Origin::kGlobal:
      return Outcome::kGlobal;
    case Origin::kPerCpu:
      return Outcome::kPerCpu;
    case Origin::kFlow:
      break;
  }
  return Outcome::kPropagation;
}

// Numbers and pointers: the access must lie in one of them, as the elements of an array that they may be.
Outcome DecidePlain(const Value& address, TypeParts& parts, InferredAccess& access) {
  access.offset = parts.Wrapped(address.type, address.offset);
  const std::uint64_t end = static_cast<std::uint64_t>(access.offset) + access.width;
  return end <= parts.graph()[address.type].size ? OutcomeOf(address.origin) : Outcome::kOutside;
}

Outcome DecidePointer(const Value& address, TypeParts& parts, InferredAccess& access) {
  access.type = address.type;
  access.offset = address.offset;
  const std::optional<std::int64_t> place = parts.Element(address.type, address.offset, address.stride);
  if (!place) return address.stride != 0 ? Outcome::kIndexed : Outcome::kOutside;
  if (*place < 0) return Outcome::kOutside;
  access.offset = *place;
  const TypeNode& node = parts.graph()[address.type];
  const auto offset = static_cast<std::uint64_t>(*place);
  if (parts.graph().Leaf(address.type, offset, access.width)) return OutcomeOf(address.origin);
  return offset + access.width > node.size ? Outcome::kOutside : Outcome::kHole;
}

// Of an array, as variables are ones, what the access lies in is an element.
Value ElementOf(const Value& address, TypeParts& parts) {
  const TypeNode& node = parts.graph()[address.type];
  if (!address.IsPointer() || node.kind != TypeKind::kArray) return address;
  const auto size = static_cast<std::int64_t>(parts.graph()[node.target].size);
  if (size == 0 || address.offset < 0) return address;
  const bool inside = node.size == 0 || address.offset < static_cast<std::int64_t>(node.size);
  if (!inside && address.stride == 0) return address;
  const std::optional<std::int64_t> place = parts.Element(address.type, address.offset, address.stride);
  if (!place) return address;
  Value element = address;
  element.type = node.target;
  element.offset = *place % size;
  element.stride = 0;
  return element;
}

}  // namespace

void Decide(const Value& given, ValueAlgebra& algebra, InferredAccess& access) {
  TypeParts& parts = algebra.parts();
  const Value address = ElementOf(algebra.Placed(given, access.width), parts);
  access.variable = algebra.NameOf(address);
  switch (address.kind) {
    case ValueKind::kUnset:
    case ValueKind::kUnknown:
    case ValueKind::kPerCpuBase:
      access.outcome = Outcome::kUnknown;
      return;
    case ValueKind::kNumber:
      access.outcome = Outcome::kScalar;
      return;
    case ValueKind::kConstant:
      access.outcome = Outcome::kAbsolute;
      return;
    case ValueKind::kStack:
      access.outcome = Outcome::kStack;
      return;
    case ValueKind::kConflict:
      access.outcome = Outcome::kConflict;
      return;
    case ValueKind::kPointer:
      break;
  }
  access.type = kVoid;
  if (!parts.IsKnown(address.type)) {
    access.outcome = Outcome::kUntyped;
  } else if (parts.IsPlain(address.type)) {
    access.type = address.type;
    access.outcome = DecidePlain(address, parts, access);
  } else {
    access.outcome = DecidePointer(address, parts, access);
  }
}

}  // namespace linesmith
