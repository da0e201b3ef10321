// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/access_outcome.h"

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

// Where an access lies in a record that it may lie in several times over. Nothing when the record's size does
// not fit the steps of the index.
std::optional<std::int64_t> PlaceOf(const Value& address, TypeParts& parts) {
  const auto size = static_cast<std::int64_t>(parts.graph()[address.type].size);
  if (parts.IsPlain(address.type)) return parts.Wrapped(address.type, address.offset);
  if (address.index_scale == 0) return address.offset;
  const std::int64_t first = parts.FirstElement(address.type, address.offset);
  const bool in_array = first != address.offset || parts.InArray(address.type, address.offset);
  if (in_array) return first;
  if (size % address.index_scale != 0) return std::nullopt;
  return parts.FirstElement(address.type, parts.Wrapped(address.type, address.offset));
}

Outcome DecidePointer(const Value& address, TypeParts& parts, InferredAccess& access) {
  if (!parts.IsKnown(address.type)) return Outcome::kUntyped;
  access.type = address.type;
  access.offset = address.offset;
  const std::optional<std::int64_t> place = PlaceOf(address, parts);
  if (!place || *place < 0) return Outcome::kOutside;
  access.offset = *place;
  const std::uint64_t size = parts.graph()[address.type].size;
  const auto offset = static_cast<std::uint64_t>(*place);
  // Text and flag words are also read several at a time.
  if (parts.IsPlain(address.type)) return OutcomeOf(address.origin);
  if (parts.graph().Leaf(address.type, offset, access.width)) return OutcomeOf(address.origin);
  const bool open = parts.ContentAt(address.type, *place, access.width).kind != Content::Kind::kNothing;
  if (offset + access.width > size) return open ? OutcomeOf(address.origin) : Outcome::kOutside;
  return Outcome::kHole;
}

}  // namespace

void Decide(const Value& given, ValueAlgebra& algebra, InferredAccess& access) {
  const Value address = algebra.Resolved(given);
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
      access.outcome = DecidePointer(address, algebra.parts(), access);
      return;
  }
}

}  // namespace linesmith
