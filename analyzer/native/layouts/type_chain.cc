// SPDX-License-Identifier: GPL-2.0-or-later
#include "layouts/type_chain.h"

#include <dwarf.h>
#include <elf.h>

#include <algorithm>
#include <bit>

namespace linesmith {
namespace {

constexpr unsigned kDeepestRecord = 100;
constexpr std::size_t kMostRanks = 64;
constexpr unsigned kMostScopes = 64;

std::uint64_t LargestPowerOfTwoIn(std::uint64_t size) { return size == 0 ? 1 : size & (~size + 1); }

// The largest alignment that a scalar gets inside a record, by the System V ABI of the machine.
std::uint64_t LargestScalarAlignment(std::uint16_t machine) {
  switch (machine) {
    case EM_386:
      return 4;
    case EM_68K:
      return 2;
    case EM_S390:
      return 8;
    default:
      return 16;
  }
}

// The largest alignment that a vector of GCC's extension gets inside a record. Where nothing is said it is
// the whole vector's size, whatever registers there are: so gcc and clang place them, though gcc's _Alignof
// tells less.
std::uint64_t LargestVectorAlignment(std::uint16_t machine) {
  switch (machine) {
    case EM_ARM:
    case EM_S390:
      return 8;
    case EM_AARCH64:
      return 16;
    default:
      return ~std::uint64_t{0};
  }
}

// What lanes of `bytes` in all take in memory: three lanes of clang's ext_vector_type as much as four.
std::uint64_t VectorBytes(std::uint64_t bytes) {
  constexpr std::uint64_t kLargestPower = std::uint64_t{1} << 63;
  return bytes == 0 || bytes > kLargestPower ? 0 : std::bit_ceil(bytes);
}

std::uint64_t Multiply(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? 0 : product;
}

}  // namespace

bool IsRecordTag(std::uint16_t tag) {
  return tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_class_type;
}

bool IsVector(const TypeDie& die) {
  return die.tag() == DW_TAG_array_type && die.attributes.Get(Slot::kVector) != 0;
}

bool IsQualifierTag(std::uint16_t tag) {
  return tag == DW_TAG_const_type || tag == DW_TAG_volatile_type || tag == DW_TAG_restrict_type ||
         tag == DW_TAG_atomic_type;
}

TypeDie TypeChain::Load(UnitContext& from, std::uint64_t reference) {
  TypeDie die;
  die.place = pool_.Follow(from, reference);
  if (!die.place) return die;
  UnitContext& unit = *die.place.unit;
  const DieHead head = unit.HeadAt(die.place.offset);
  ByteCursor cursor = unit.CursorAt(head.attributes);
  unit.Read(*head.abbreviation, cursor, die.attributes);
  die.abbreviation = head.abbreviation;
  die.behind = cursor.position();
  const bool elsewhere = die.attributes.Has(Slot::kSignature);  // gcc omits DW_AT_declaration here
  if (!elsewhere || reference >> kReferenceShift == static_cast<std::uint64_t>(ReferenceKind::kSignature))
    return die;
  TypeDie definition = Load(unit, die.attributes.Get(Slot::kSignature));
  return definition ? definition : die;
}

TypeDie TypeChain::Next(const TypeDie& die) {
  return die.attributes.Has(Slot::kType) ? Load(*die.place.unit, die.attributes.Get(Slot::kType)) : TypeDie{};
}

ArrayBounds TypeChain::Bounds(const TypeDie& array) {
  ArrayBounds bounds;
  UnitContext& unit = *array.place.unit;
  ByteCursor cursor = unit.CursorAt(array.behind);
  Attributes attributes;
  while (array.abbreviation->has_children && !cursor.done() && bounds.dimensions.size() < kMostRanks) {
    const DieHead head = unit.Head(cursor);
    if (head.abbreviation == nullptr) break;
    unit.Read(*head.abbreviation, cursor, attributes);
    if (head.abbreviation->tag == DW_TAG_subrange_type) {
      const bool counted = attributes.Has(Slot::kCount);
      const bool bounded = counted || attributes.Has(Slot::kUpperBound);
      if (!bounded && bounds.dimensions.empty()) bounds.flexible = true;
      std::uint64_t count = counted ? attributes.Get(Slot::kCount) : attributes.Get(Slot::kUpperBound) + 1;
      // Producers write the upper bound -1 of an empty array unsigned and as wide as the target's size_t.
      if (!counted && count == 0x100000000 && unit.unit().widths.address_bytes == 4) count = 0;
      bounds.dimensions.push_back(bounded ? count : 0);
    }
    unit.StepOverChildren(*head.abbreviation, attributes, cursor);
  }
  if (bounds.dimensions.empty()) bounds = {.dimensions = {0}, .flexible = true};
  return bounds;
}

TypeShape TypeChain::ShapeOf(UnitContext& from, std::uint64_t reference) {
  const TypeDie die = Load(from, reference);
  return die ? ShapeOf(die) : TypeShape{};
}

TypeShape TypeChain::ShapeOf(const TypeDie& die) {
  TypeShape shape;
  Resolve(die, shape, 0);
  return shape;
}

void TypeChain::Resolve(TypeDie die, TypeShape& shape, unsigned depth) {
  std::uint64_t elements = 1;
  std::uint64_t wanted_alignment = 1;
  for (; die && depth < kLongestChain; ++depth) {
    wanted_alignment = std::max(wanted_alignment, die.attributes.Get(Slot::kAlignment, 1));
    // A descriptor (DWARF 5, 5.18.1): the elements of an allocatable array of Fortran lie elsewhere, and may
    // be records that hold the array.
    if (die.attributes.Has(Slot::kDataLocation)) return;
    if (die.tag() == DW_TAG_array_type && !IsVector(die)) {
      const ArrayBounds bounds = Bounds(die);
      if (shape.dimensions.empty()) shape.flexible = bounds.flexible;
      for (const std::uint64_t count : bounds.dimensions) elements = Multiply(elements, count);
      shape.dimensions.insert(shape.dimensions.end(), bounds.dimensions.begin(), bounds.dimensions.end());
    } else if (die.tag() != DW_TAG_typedef && !IsQualifierTag(die.tag())) {
      break;
    }
    die = Next(die);
  }
  if (!die) return;
  if (IsVector(die)) {
    ResolveVector(die, shape, depth + 1);
  } else {
    ResolveNamed(die, shape);
  }
  shape.size = Multiply(shape.size, elements);
  shape.alignment = std::max(shape.alignment, wanted_alignment);
}

void TypeChain::ResolveNamed(const TypeDie& die, TypeShape& shape) {
  shape.size = die.attributes.Get(Slot::kByteSize);
  switch (die.tag()) {
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
    case DW_TAG_ptr_to_member_type:
      shape.size = die.attributes.Get(Slot::kByteSize, die.place.unit->unit().widths.address_bytes);
      shape.alignment = ScalarAlignment(die, shape.size);
      shape.category = MemberCategory::kPointer;
      return ResolvePointer(die, shape);
    case DW_TAG_enumeration_type:
      shape.category = MemberCategory::kEnum;
      break;
    case DW_TAG_base_type: {
      const std::uint64_t encoding = die.attributes.Get(Slot::kEncoding);
      const bool floating = encoding == DW_ATE_float || encoding == DW_ATE_complex_float;
      shape.category = floating ? MemberCategory::kFloat : MemberCategory::kScalar;
      break;
    }
    default:
      if (!IsRecordTag(die.tag())) break;
      shape.category = MemberCategory::kRecord;
      shape.record = die.place;
      shape.alignment = MemberAlignment(die);
      return;
  }
  shape.alignment = ScalarAlignment(die, shape.size);
}

// A vector is one value, which its code loads and stores as a whole: no dimensions.
void TypeChain::ResolveVector(const TypeDie& vector, TypeShape& shape, unsigned depth) {
  TypeShape lane;
  TypeDie element = Next(vector);
  if (element && depth < kLongestChain) Resolve(std::move(element), lane, depth);
  if (lane.category != MemberCategory::kRecord) shape.category = lane.category;
  for (const std::uint64_t count : Bounds(vector).dimensions) lane.size = Multiply(lane.size, count);
  shape.size = vector.attributes.Get(Slot::kByteSize, VectorBytes(lane.size));
  const std::uint64_t limit = LargestVectorAlignment(vector.place.unit->unit().file->machine());
  shape.alignment = std::min(LargestPowerOfTwoIn(shape.size), limit);
}

void TypeChain::ResolvePointer(const TypeDie& pointer, TypeShape& shape) {
  std::string alias;  // the typedef of an anonymous record, should its unit not know it
  TypeDie die = Next(pointer);
  bool read_only = false;
  bool direct = true;  // no other pointer lies between
  for (unsigned steps = 0; die && steps < kLongestChain; ++steps) {
    const std::uint16_t tag = die.tag();
    if (tag == DW_TAG_subroutine_type) {
      if (direct) shape.category = MemberCategory::kFunctionPointer;
      return;
    }
    if (IsRecordTag(tag)) {
      shape.target = RecordName(die);
      if (shape.target.empty()) shape.target = alias;
      shape.read_only_target = read_only && !shape.target.empty();
      return;
    }
    if (tag == DW_TAG_typedef) alias = die.attributes.Text(Slot::kName);
    if (tag == DW_TAG_pointer_type || tag == DW_TAG_array_type) alias.clear();
    if (tag == DW_TAG_const_type) read_only = true;
    if (tag == DW_TAG_pointer_type) read_only = direct = false;
    if (tag != DW_TAG_pointer_type && tag != DW_TAG_typedef && tag != DW_TAG_array_type &&
        !IsQualifierTag(tag))
      return;
    die = Next(die);
  }
}

std::uint64_t TypeChain::ScalarAlignment(const TypeDie& die, std::uint64_t size) const {
  const std::uint64_t limit = LargestScalarAlignment(die.place.unit->unit().file->machine());
  return std::max(std::min(LargestPowerOfTwoIn(size), limit), die.attributes.Get(Slot::kAlignment, 1));
}

std::string TypeChain::RecordName(const TypeDie& record) {
  UnitContext& unit = *record.place.unit;
  std::string name = record.attributes.Text(Slot::kName);
  if (name.empty() && record.attributes.Has(Slot::kSpecification)) {
    const TypeDie declaration = Load(unit, record.attributes.Get(Slot::kSpecification));
    return declaration && !declaration.attributes.Has(Slot::kSpecification) ? RecordName(declaration) : "";
  }
  if (name.empty()) {
    const char* alias = unit.TypedefName(record.place.offset);
    if (alias == nullptr) return "";
    name = alias;
  }
  unsigned levels = 0;
  for (std::uint32_t scope = unit.ScopeOf(record.place.offset); scope != 0;
       scope = unit.scopes()[scope].parent) {
    if (++levels > kMostScopes) break;
    if (*unit.scopes()[scope].name != 0) name = unit.scopes()[scope].name + ("::" + name);
  }
  return name;
}

// What a member of this type is aligned to. A stated alignment below the natural one, and a size that is no
// multiple of it, are possible in packed records only; those need what is stated, or nothing.
std::uint64_t TypeChain::MemberAlignment(const TypeDie& record) {
  const std::uint64_t natural = RecordAlignment(record);
  const std::uint64_t stated = record.attributes.Get(Slot::kAlignment, 0);
  const std::uint64_t size = record.attributes.Get(Slot::kByteSize);
  const bool packed = (stated != 0 && stated < natural) || (natural != 0 && size % natural != 0);
  return packed ? std::max<std::uint64_t>(stated, 1) : std::max(natural, stated);
}

std::uint64_t TypeChain::RecordAlignment(const TypeDie& record) {
  const Unit* owner = &record.place.unit->unit();
  const auto [known, fresh] = alignments_[owner].try_emplace(record.place.offset, 1);
  if (!fresh || !record.abbreviation->has_children || record_depth_ > kDeepestRecord) return known->second;
  ++record_depth_;
  std::uint64_t alignment = 1;
  UnitContext& unit = *record.place.unit;
  ByteCursor cursor = unit.CursorAt(record.behind);
  Attributes attributes;
  while (!cursor.done()) {
    const DieHead head = unit.Head(cursor);
    if (head.abbreviation == nullptr) break;
    unit.Read(*head.abbreviation, cursor, attributes);
    const bool member =
        head.abbreviation->tag == DW_TAG_member || head.abbreviation->tag == DW_TAG_inheritance;
    if (member && attributes.Has(Slot::kType)) {
      alignment = std::max({alignment, ShapeOf(unit, attributes.Get(Slot::kType)).alignment,
                            attributes.Get(Slot::kAlignment, 1)});
    }
    unit.StepOverChildren(*head.abbreviation, attributes, cursor);
  }
  --record_depth_;
  return alignments_[owner][record.place.offset] = alignment;
}

}  // namespace linesmith
