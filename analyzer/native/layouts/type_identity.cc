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
// What few members have.
constexpr SlotSet kRareSlots = kPlaceSlots | SlotBit(Slot::kAlignment) | SlotBit(Slot::kByteSize);

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

std::uint64_t TypeIdentity::Name(const UnitContext& unit, const char* text) const {
  if (names_ == NamesBy::kText || unit.IsInline(text)) return HashText(text);
  return MixHash(reinterpret_cast<std::uint64_t>(text), 0);
}

std::uint64_t TypeIdentity::Of(UnitContext& unit, std::uint64_t reference, bool deep, unsigned depth) {
  const DieRef die = pool_.Follow(unit, reference);
  if (!die) return kVoid;
  OffsetMap& identities = MemoOf(*die.unit).types;
  const std::size_t place = identities.PlaceOf(die.offset);
  std::uint64_t& known = identities.At(die.offset, place).hashes[deep];
  if (known != 0) return known;
  if (depth > kDeepestChain) return kTooDeep;
  known = kOpen;
  const Description found = Describe(die, deep, depth + 1);
  IdentityEntry& entry = identities.At(die.offset, place);
  entry.hashes[deep] = found.hash | 1;
  if (!found.holds_types && entry.hashes[!deep] == 0) entry.hashes[!deep] = found.hash | 1;
  return found.hash | 1;
}

TypeIdentity::Description TypeIdentity::Describe(DieRef die, bool deep, unsigned depth) {
  UnitContext& unit = *die.unit;
  const DieHead head = unit.HeadAt(die.offset);
  const std::uint16_t tag = head.abbreviation->tag;
  if (IsRecord(tag)) {
    const bool may_be_known = deep && known_ != nullptr;
    const Variant* known = may_be_known ? known_->Find(keys_->OfRecord(unit, die.offset)) : nullptr;
    return {known != nullptr ? known->identity : DescribeRecord(die, head, deep, depth), true};
  }
  const bool holds = HoldsByValue(tag);
  ByteCursor cursor = unit.CursorAt(head.attributes);
  Attributes attributes;
  unit.Read(*head.abbreviation, cursor, attributes);
  std::uint64_t hash = MixHash(tag, attributes.Get(Slot::kByteSize));
  hash = MixHash(hash, Name(unit, attributes.Text(Slot::kName)));
  const std::uint64_t vector = attributes.Get(Slot::kVector) << 8;
  hash = MixHash(hash, attributes.Get(Slot::kAlignment) << 16 | vector | attributes.Get(Slot::kEncoding));
  if (attributes.Has(Slot::kType)) {
    hash = MixHash(hash, Of(unit, attributes.Get(Slot::kType), deep && holds, depth));
  }
  if (head.abbreviation->has_children && HasDescribedChildren(tag)) {
    hash = MixHash(hash, DescribeChildren(unit, cursor, depth));
  }
  return {hash, holds};
}

std::uint64_t TypeIdentity::DescribeRecord(DieRef die, const DieHead& head, bool deep, unsigned depth) {
  UnitContext& unit = *die.unit;
  ByteCursor cursor = unit.CursorAt(head.attributes);
  Attributes attributes;
  unit.Read(*head.abbreviation, cursor, attributes);
  if (attributes.Has(Slot::kSignature)) {
    return Of(unit, attributes.Get(Slot::kSignature), deep, depth);
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
    unit.Read(*head.abbreviation, cursor, attributes);
    const std::uint16_t tag = head.abbreviation->tag;
    if (tag == DW_TAG_member || tag == DW_TAG_inheritance) {
      std::uint64_t place = attributes.Get(Slot::kMemberLocation);
      if ((attributes.present & kRareSlots) != 0) {
        const std::uint64_t bits = attributes.Get(Slot::kBitOffset) << 32 ^
                                   attributes.Get(Slot::kBitSize) << 16 ^
                                   attributes.Get(Slot::kAlignment) << 8 ^ attributes.Get(Slot::kByteSize);
        place = MixHash(MixHash(place, attributes.Get(Slot::kDataBitOffset)), bits) ^
                (attributes.present & kPlaceSlots);
      }
      const char* name = attributes.Text(Slot::kName);
      const std::uint64_t type =
          attributes.Has(Slot::kType) ? Deep(unit, attributes.Get(Slot::kType), depth) : kVoid;
      hash = MixHash(MixHash(hash, Name(unit, name)), MixHash(place, type));
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
    unit.Read(*head.abbreviation, cursor, attributes);
    const std::uint16_t tag = head.abbreviation->tag;
    hash = MixHash(hash, tag);
    if (tag == DW_TAG_subrange_type) {
      hash = MixHash(hash, attributes.Has(Slot::kCount) ? attributes.Get(Slot::kCount)
                                                        : attributes.Get(Slot::kUpperBound, ~1ull) + 1);
    } else if (tag == DW_TAG_formal_parameter) {
      hash = MixHash(hash,
                     attributes.Has(Slot::kType) ? Shallow(unit, attributes.Get(Slot::kType), depth) : kVoid);
    } else if (tag == DW_TAG_enumerator) {
      hash = MixHash(hash, Name(unit, attributes.Text(Slot::kName)) + attributes.Get(Slot::kConstValue));
    }
    unit.StepOverChildren(*head.abbreviation, attributes, cursor);
  }
  return hash;
}

std::uint64_t TypeIdentity::QualifiedName(UnitContext& unit, std::uint64_t offset, const char* name) {
  std::uint64_t hash = Name(unit, name);
  if (unit.scopes().size() <= 1) return hash;
  unsigned levels = 0;
  for (std::uint32_t scope = unit.ScopeOf(offset); scope != 0; scope = unit.scopes()[scope].parent) {
    if (++levels > kDeepestChain) break;
    hash = MixHash(hash, Name(unit, unit.scopes()[scope].name));
  }
  return hash;
}

// Path of a declaration's file: remembered per unit by index, and across units by the strings it is made of.
std::uint64_t TypeIdentity::File(UnitContext& unit, std::uint64_t index) {
  const LineFiles& files = unit.files();
  if (index >= files.size()) return 0;
  std::vector<std::uint64_t>& hashes = MemoOf(unit).files;
  hashes.resize(files.size());
  std::uint64_t& known = hashes[index];
  if (known != 0) return known;
  const std::uint64_t names = MixHash(Name(unit, files.Name(index)), Name(unit, files.Directory(index)));
  const std::uint64_t place = MixHash(names, Name(unit, files.Root(unit.directory()))) | 1;
  if (names_ == NamesBy::kAddress) return known = place;
  const auto [found, fresh] = files_.try_emplace(place, 0);
  if (fresh) found->second = HashText(files.Path(index, unit.directory()).c_str()) | 1;
  return known = found->second;
}

}  // namespace linesmith
