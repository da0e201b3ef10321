// SPDX-License-Identifier: GPL-2.0-or-later
#include "btf/btf_facts.h"

#include <algorithm>
#include <string_view>

#include "btf/btf_spelling.h"

namespace linesmith {
namespace {

constexpr std::uint64_t kMostAlignment = 16;
constexpr int kDeepestNesting = 128;
constexpr std::size_t kMostRanks = 64;

std::string Numbered(BtfTypeId id) { return "type " + std::to_string(id); }

// Largest power of two that divides `size`: 12-byte long doubles align to 4.
std::uint64_t ScalarAlignment(std::uint64_t size) {
  return size == 0 ? 1 : std::min(kMostAlignment, size & (~size + 1));
}

bool IsComplex(std::string_view name) {
  return name.starts_with("complex ") || name.find("_Complex") != std::string_view::npos;
}

}  // namespace

BtfElement ElementOf(const BtfTypes& types, BtfTypeId id) {
  BtfElement result{UnqualifiedBtfType(types, id), {}};
  while (types.At(result.element).kind == BtfKind::kArray) {
    const BtfArray array = types.ArrayOf(types.At(result.element));
    result.dimensions.push_back(array.count);
    if (result.dimensions.size() > kMostRanks) {
      types.ThrowDamaged(Numbered(id) + " is an array of itself, or of more than 64 ranks");
    }
    result.element = UnqualifiedBtfType(types, array.element);
  }
  return result;
}

std::optional<BtfBits> BitFieldOf(const BtfTypes& types, const BtfMember& member) {
  if (member.bit_size != 0) return BtfBits{member.bit_offset, member.bit_size};
  const BtfType& type = types.At(UnqualifiedBtfType(types, member.type));
  if (type.kind != BtfKind::kInt) return std::nullopt;
  const BtfIntEncoding encoding = types.IntEncodingOf(type);
  if (encoding.bit_offset == 0 && encoding.bits == std::uint64_t{type.size_or_type} * 8) return std::nullopt;
  return BtfBits{member.bit_offset + encoding.bit_offset, encoding.bits};
}

BtfFacts::BtfFacts(const BtfTypes& types) : types_(types), pointer_bytes_(FindPointerBytes()) {}

// `long` is as wide as a pointer on every target of Linux, and BTF does not say how wide a pointer is.
std::uint64_t BtfFacts::FindPointerBytes() const {
  for (BtfTypeId id = 1; id < types_.count(); ++id) {
    const BtfType& type = types_.At(id);
    if (type.kind != BtfKind::kInt || (type.size_or_type != 4 && type.size_or_type != 8)) continue;
    for (const std::string_view name : {"long int", "long unsigned int", "long", "unsigned long"}) {
      if (type.name == name) return type.size_or_type;
    }
  }
  return 8;
}

std::uint64_t BtfFacts::SizeOf(BtfTypeId id) const {
  const BtfElement array = ElementOf(types_, id);
  std::uint64_t size = SizeOfScalar(array.element);
  for (const std::uint64_t count : array.dimensions) {
    if (__builtin_mul_overflow(size, count, &size))
      types_.ThrowDamaged(Numbered(id) + " is larger than any memory");
  }
  return size;
}

std::uint64_t BtfFacts::SizeOfScalar(BtfTypeId id) const {
  const BtfType& type = types_.At(id);
  switch (type.kind) {
    case BtfKind::kPointer:
      return pointer_bytes_;
    case BtfKind::kInt:
    case BtfKind::kFloat:
    case BtfKind::kEnum:
    case BtfKind::kEnum64:
    case BtfKind::kStruct:
    case BtfKind::kUnion:
      return type.size_or_type;
    case BtfKind::kVoid:
    case BtfKind::kForward:
    case BtfKind::kFunctionPrototype:
      return 0;
    default:
      types_.ThrowDamaged(Numbered(id) + " (kind " + std::to_string(static_cast<int>(type.kind)) +
                          ") is held by value, but is no C type");
  }
}

std::uint64_t BtfFacts::AlignmentOf(BtfTypeId id) {
  const BtfTypeId element = ElementOf(types_, id).element;
  const BtfType& type = types_.At(element);
  if (type.kind != BtfKind::kStruct && type.kind != BtfKind::kUnion) return AlignmentOfScalar(type);
  const RecordAlignment& record = AlignRecord(element);
  return record.packed ? 1 : record.natural;
}

std::uint64_t BtfFacts::NaturalAlignmentOfRecord(BtfTypeId id) { return AlignRecord(id).natural; }

std::uint64_t BtfFacts::AlignmentOfScalar(const BtfType& type) const {
  if (type.kind == BtfKind::kPointer) return pointer_bytes_;
  return ScalarAlignment(IsComplex(type.name) ? type.size_or_type / 2 : type.size_or_type);
}

const BtfFacts::RecordAlignment& BtfFacts::AlignRecord(BtfTypeId id) {
  const auto [place, fresh] = records_.try_emplace(id);
  if (!fresh && place->second.known) return place->second;
  if (!fresh || ++depth_ > kDeepestNesting) {
    types_.ThrowDamaged(Numbered(id) + " contains itself, or records nested more than 128 deep");
  }
  const BtfType& type = types_.At(id);
  RecordAlignment found{1, false, true};
  for (std::uint32_t position = 0; position < type.entries; ++position) {
    const BtfMember member = types_.MemberOf(type, position);
    const std::uint64_t needed = AlignmentOf(member.type);
    found.natural = std::max(found.natural, needed);
    found.packed |= !BitFieldOf(types_, member) && member.bit_offset / 8 % needed != 0;
  }
  found.packed |= type.size_or_type % found.natural != 0;
  --depth_;
  return records_.insert_or_assign(id, found).first->second;
}

}  // namespace linesmith
