// SPDX-License-Identifier: GPL-2.0-or-later
#include "layouts/type_identity.h"

#include <dwarf.h>

#include "base/content_hash.h"

namespace linesmith {
namespace {

// Real chains of typedefs, arrays and nested records are far shorter; a longer one is a loop.
constexpr unsigned kDeepestChain = 200;
constexpr std::uint64_t kVoid = 0x766f6964;
constexpr std::uint64_t kOpen = 0x6f70656e;  // stands in while a type is being described: it holds itself
constexpr std::uint64_t kTooDeep = 0x64656570;

constexpr SlotSet kPlaceSlots =
    SlotBit(Slot::kBitSize) | SlotBit(Slot::kBitOffset) | SlotBit(Slot::kDataBitOffset);

bool IsRecord(std::uint16_t tag) {
  return tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_class_type;
}

// Types whose value contains a value of the type they refer to.
bool HoldsByValue(std::uint16_t tag) {
  switch (tag) {
    case DW_TAG_typedef:
    case DW_TAG_array_type:
    case DW_TAG_const_type:
    case DW_TAG_volatile_type:
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type:
      return true;
    default:
      return false;
  }
}

bool HasDescribedChildren(std::uint16_t tag) {
  return tag == DW_TAG_array_type || tag == DW_TAG_subroutine_type || tag == DW_TAG_enumeration_type;
}

}  // namespace

std::uint64_t TypeIdentity::OfRecord(UnitContext& unit, std::uint64_t offset) {
  return Deep(unit, offset, 0);
}

std::uint64_t TypeIdentity::Name(const char* text) {
  KnownName& known = Known(text);
  if (known.text != text) known = {text, HashText(text)};
  return known.hash;
}

std::uint64_t TypeIdentity::Shallow(UnitContext& unit, std::uint64_t reference, unsigned depth) {
  const DieRef die = pool_.Follow(unit, reference);
  if (!die) return kVoid;
  IdentityEntry& entry = die.unit->identities.At(die.offset);
  if (entry.shallow != 0) return entry.shallow;
  if (depth > kDeepestChain) return kTooDeep;
  entry.shallow = kOpen;
  const std::uint64_t hash = Describe(die, false, depth + 1) | 1;
  die.unit->identities.At(die.offset).shallow = hash;
  return hash;
}

std::uint64_t TypeIdentity::Deep(UnitContext& unit, std::uint64_t reference, unsigned depth) {
  const DieRef die = pool_.Follow(unit, reference);
  if (!die) return kVoid;
  IdentityEntry& entry = die.unit->identities.At(die.offset);
  if (entry.deep != 0) return entry.deep;
  if (depth > kDeepestChain) return kTooDeep;
  entry.deep = kOpen;
  const std::uint64_t hash = Describe(die, true, depth + 1) | 1;
  die.unit->identities.At(die.offset).deep = hash;
  return hash;
}

std::uint64_t TypeIdentity::Describe(DieRef die, bool deep, unsigned depth) {
  UnitContext& unit = *die.unit;
  const DieHead head = unit.HeadAt(die.offset);
  const std::uint16_t tag = head.abbreviation->tag;
  if (IsRecord(tag)) return DescribeRecord(die, deep, depth);
  ByteCursor cursor = unit.CursorAt(head.attributes);
  Attributes attributes;
  unit.ReadType(*head.abbreviation, cursor, attributes);
  std::uint64_t hash = MixHash(tag, attributes.Get(Slot::kByteSize));
  hash = MixHash(hash, Name(attributes.Text(Slot::kName)));
  const std::uint64_t vector = attributes.Get(Slot::kVector) << 8;
  hash = MixHash(hash, attributes.Get(Slot::kAlignment) << 16 | vector | attributes.Get(Slot::kEncoding));
  if (attributes.Has(Slot::kType)) {
    const std::uint64_t inner = attributes.Get(Slot::kType);
    hash = MixHash(hash, deep && HoldsByValue(tag) ? Deep(unit, inner, depth) : Shallow(unit, inner, depth));
  }
  if (head.abbreviation->has_children && HasDescribedChildren(tag)) {
    hash = MixHash(hash, DescribeChildren(unit, cursor, depth));
  }
  return hash;
}

std::uint64_t TypeIdentity::DescribeRecord(DieRef die, bool deep, unsigned depth) {
  UnitContext& unit = *die.unit;
  const DieHead head = unit.HeadAt(die.offset);
  ByteCursor cursor = unit.CursorAt(head.attributes);
  Attributes attributes;
  unit.Read(*head.abbreviation, cursor, attributes);
  if (attributes.Has(Slot::kSignature)) {
    return deep ? Deep(unit, attributes.Get(Slot::kSignature), depth)
                : Shallow(unit, attributes.Get(Slot::kSignature), depth);
  }
  std::uint64_t hash = MixHash(head.abbreviation->tag, 0);
  const char* name = attributes.Text(Slot::kName);
  const bool anonymous = *name == 0;
  const char* alias = anonymous ? unit.TypedefName(die.offset) : nullptr;
  hash = MixHash(hash, QualifiedName(unit, die.offset, alias != nullptr ? alias : name));
  if (attributes.Has(Slot::kSpecification)) {
    hash = MixHash(hash, Shallow(unit, attributes.Get(Slot::kSpecification), depth));
  }
  if (!deep && (!anonymous || alias != nullptr)) return hash;
  hash = MixHash(hash, attributes.Get(Slot::kByteSize) + (alias != nullptr ? 1 : 0));
  hash = MixHash(hash, File(unit, attributes.Get(Slot::kDeclFile)));
  hash = MixHash(hash, attributes.Get(Slot::kDeclLine));
  if (!deep || attributes.Has(Slot::kDeclaration)) return hash;
  hash = MixHash(hash, attributes.Get(Slot::kAlignment));
  if (head.abbreviation->has_children) hash = MixHash(hash, DescribeMembers(unit, cursor, depth));
  return hash;
}

std::uint64_t TypeIdentity::DescribeMembers(UnitContext& unit, ByteCursor cursor, unsigned depth) {
  std::uint64_t hash = 0;
  Attributes attributes;
  while (!cursor.done()) {
    const DieHead head = unit.Head(cursor);
    if (head.abbreviation == nullptr) break;
    unit.ReadType(*head.abbreviation, cursor, attributes);
    const std::uint16_t tag = head.abbreviation->tag;
    if (tag == DW_TAG_member || tag == DW_TAG_inheritance) {
      const std::uint64_t place =
          MixHash(attributes.Get(Slot::kMemberLocation), attributes.Get(Slot::kDataBitOffset)) ^
          (attributes.present & kPlaceSlots);
      const std::uint64_t bits = attributes.Get(Slot::kBitOffset) << 32 ^
                                 attributes.Get(Slot::kBitSize) << 16 ^
                                 attributes.Get(Slot::kAlignment) << 8 ^ attributes.Get(Slot::kByteSize);
      const char* name = attributes.Text(Slot::kName);
      __builtin_prefetch(&Known(name));  // the type is looked up meanwhile
      const std::uint64_t type =
          attributes.Has(Slot::kType) ? Deep(unit, attributes.Get(Slot::kType), depth) : kVoid;
      hash = MixHash(MixHash(hash, Name(name)), MixHash(MixHash(place, bits), type));
    }
    unit.StepOverChildren(*head.abbreviation, attributes, cursor);
  }
  return hash;
}

// Bounds of an array, parameters of a function, values of an enumeration.
std::uint64_t TypeIdentity::DescribeChildren(UnitContext& unit, ByteCursor cursor, unsigned depth) {
  std::uint64_t hash = 0;
  Attributes attributes;
  while (!cursor.done()) {
    const DieHead head = unit.Head(cursor);
    if (head.abbreviation == nullptr) break;
    unit.ReadType(*head.abbreviation, cursor, attributes);
    const std::uint16_t tag = head.abbreviation->tag;
    hash = MixHash(hash, tag);
    if (tag == DW_TAG_subrange_type) {
      hash = MixHash(hash, attributes.Has(Slot::kCount) ? attributes.Get(Slot::kCount)
                                                        : attributes.Get(Slot::kUpperBound, ~1ull) + 1);
    } else if (tag == DW_TAG_formal_parameter) {
      hash = MixHash(hash,
                     attributes.Has(Slot::kType) ? Shallow(unit, attributes.Get(Slot::kType), depth) : kVoid);
    } else if (tag == DW_TAG_enumerator) {
      hash = MixHash(hash, Name(attributes.Text(Slot::kName)) + attributes.Get(Slot::kConstValue));
    }
    unit.StepOverChildren(*head.abbreviation, attributes, cursor);
  }
  return hash;
}

std::uint64_t TypeIdentity::QualifiedName(UnitContext& unit, std::uint64_t offset, const char* name) {
  std::uint64_t hash = Name(name);
  if (unit.scopes().size() <= 1) return hash;
  unsigned levels = 0;
  for (std::uint32_t scope = unit.ScopeOf(offset); scope != 0; scope = unit.scopes()[scope].parent) {
    if (++levels > kDeepestChain) break;
    hash = MixHash(hash, HashText(unit.scopes()[scope].name));
  }
  return hash;
}

// Path of a declaration's file: remembered per unit by index, and across units by the strings it is made of.
std::uint64_t TypeIdentity::File(UnitContext& unit, std::uint64_t index) {
  const LineFiles& files = unit.files();
  if (index >= files.size()) return 0;
  unit.file_identities.resize(files.size());
  std::uint64_t& known = unit.file_identities[index];
  if (known != 0) return known;
  const std::uint64_t names = MixHash(HashText(files.Name(index)), HashText(files.Directory(index)));
  const auto [found, fresh] = files_.try_emplace(MixHash(names, HashText(files.Root(unit.directory()))), 0);
  if (fresh) found->second = HashText(files.Path(index, unit.directory()).c_str()) | 1;
  return known = found->second;
}

}  // namespace linesmith
