// SPDX-License-Identifier: GPL-2.0-or-later
// One unit as one worker reads it: decoded DIEs, its records, and what names its anonymous ones.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/offset_map.h"
#include "dwarf/abbreviation.h"
#include "dwarf/debug_file.h"
#include "dwarf/line_files.h"
#include "elf/byte_cursor.h"

namespace linesmith {

// How a DW_FORM reference finds its DIE; kept in the top bits of the decoded value.
enum class ReferenceKind : std::uint8_t { kUnit, kSection, kSupplement, kSignature };
constexpr unsigned kReferenceShift = 62;

// What the attributes of a unit are decoded with.
struct DecodingFacts {
  std::uint64_t unit_offset = 0;
  const StringSection* strings = nullptr;
  const std::uint64_t* constants = nullptr;
};

// The wanted attributes of one DIE, each decoded when it is asked for where all are at fixed places. Strings
// are pointers into their section. Good as long as the unit is open.
struct Attributes {
  SlotSet present = 0;
  bool complex_location = false;  // the member's place is computed at run time
  // Where the attributes start; null when they have been decoded into `values`.
  const std::uint8_t* start = nullptr;
  const Abbreviation* abbreviation = nullptr;
  const DecodingFacts* facts = nullptr;
  const char* inline_name = "";  // where the abbreviation says name_first
  std::uint64_t values[kSlotCount];

  bool Has(Slot slot) const { return (present & SlotBit(slot)) != 0; }
  std::uint64_t Get(Slot slot, std::uint64_t absent = 0) const {
    if (!Has(slot)) return absent;
    return start != nullptr ? Decode(slot) : values[static_cast<unsigned>(slot)];
  }
  const char* Text(Slot slot) const { return Has(slot) ? reinterpret_cast<const char*>(Get(slot)) : ""; }
  // To be filled by Set().
  void Clear() {
    present = 0;
    complex_location = false;
    start = nullptr;
  }
  void Set(Slot slot, std::uint64_t value) {
    present |= SlotBit(slot);
    values[static_cast<unsigned>(slot)] = value;
  }

 private:
  // Loads whole words that end where the attribute ends: the header of the unit is in front of all DIEs.
  std::uint64_t Decode(Slot slot) const {
    static_assert(kReferenceShift > 0 && static_cast<unsigned>(ReferenceKind::kUnit) == 0);
    if (slot == Slot::kName && abbreviation->name_first) return reinterpret_cast<std::uint64_t>(inline_name);
    const FixedPlace place = abbreviation->places[static_cast<unsigned>(slot)];
    if (place.other_bits == FixedPlace::kConstant)
      return facts->constants[abbreviation->first_constant + place.end];
    std::uint64_t word;
    std::memcpy(&word, start + place.end - sizeof word, sizeof word);
    word >>= place.other_bits;
    if ((kReferenceSlots & SlotBit(slot)) != 0) return facts->unit_offset + word;
    if ((kTextSlots & SlotBit(slot)) != 0) return reinterpret_cast<std::uint64_t>(facts->strings->At(word));
    return word;
  }
};

// A DIE's abbreviation and where its attributes start.
struct DieHead {
  const Abbreviation* abbreviation = nullptr;  // null for the entry that ends a list of children
  const std::uint8_t* attributes = nullptr;
};

// A record definition found by the scan; `scope` indexes UnitContext::scopes().
struct RecordDie {
  std::uint64_t offset = 0;
  std::uint32_t scope = 0;
};

// An enclosing namespace or record that qualifies names; entry 0 is the unit itself.
struct Scope {
  std::uint32_t parent = 0;
  const char* name = "";
};

// A typedef of something in another unit (type units, dwz, link-time optimisation): what it may give a name
// to.
struct ForeignTypedef {
  std::uint64_t target = 0;  // a decoded reference
  const char* name = "";
};

// Names that typedefs of other units give to anonymous records, by Unit::index and offset.
using ForeignNames = std::map<std::pair<std::uint32_t, std::uint64_t>, std::string>;

struct IdentityMemo {
  OffsetMap types;
  std::vector<std::uint64_t> files;  // by DW_AT_decl_file
};

class UnitContext {
 public:
  // Decodes the root DIE. Throws Truncated when the unit is damaged.
  UnitContext(const Unit& unit, std::shared_ptr<const AbbreviationTable> abbreviations);

  const Unit& unit() const { return *unit_; }
  const Attributes& root() const { return root_; }
  const char* name() const { return root_.Text(Slot::kName); }
  bool qualifies_names() const { return qualifies_names_; }  // the language has namespaces and nested types

  // The DIE at a section offset inside this unit; throws Truncated for an offset outside or an unknown code.
  DieHead HeadAt(std::uint64_t offset) const;
  // The DIE at the cursor, which moves to its attributes.
  DieHead Head(ByteCursor& cursor) const {
    const std::uint64_t code = cursor.Uleb();
    if (code == 0) return {nullptr, cursor.position()};
    const Abbreviation* abbreviation = abbreviations_->Find(code);
    if (abbreviation == nullptr) [[unlikely]]
      ThrowTruncated();
    return {abbreviation, cursor.position()};
  }
  ByteCursor CursorAt(const std::uint8_t* place) const { return {place, end_, little_endian_}; }
  std::uint64_t OffsetOf(const std::uint8_t* place) const {
    return static_cast<std::uint64_t>(place - unit_->section.data());
  }
  // Whether a decoded string stands among the DIEs (DW_FORM_string).
  bool IsInline(const char* text) const {
    const auto place = reinterpret_cast<std::uintptr_t>(text);
    return place - reinterpret_cast<std::uintptr_t>(unit_->section.data()) < unit_->section.size();
  }
  bool Contains(std::uint64_t offset) const { return offset >= unit_->first_die && offset < unit_->end; }

  // The wanted attributes; the cursor moves from the attributes to behind them.
  void Read(const Abbreviation& abbreviation, ByteCursor& cursor, Attributes& attributes) const {
    attributes.complex_location = false;
    if (!abbreviation.is_fixed || !native_order_) return Run(abbreviation.read, cursor, attributes);
    if (abbreviation.name_first) attributes.inline_name = cursor.String();
    attributes.present = abbreviation.slots;
    attributes.start = cursor.position();
    attributes.abbreviation = &abbreviation;
    attributes.facts = &facts_;
    cursor.Skip(abbreviation.places_bytes);
  }
  // One attribute by its form: numbers as they are, references with their ReferenceKind, strings as pointers.
  std::uint64_t ReadForm(const FormStep& step, ByteCursor& cursor, Attributes& attributes) const;
  const AbbreviationTable& abbreviations() const { return *abbreviations_; }
  // Moves from the attributes to behind them.
  void Step(const Abbreviation& abbreviation, ByteCursor& cursor) const {
    if (abbreviation.fixed_bytes >= 0) [[likely]]
      return cursor.Skip(static_cast<std::uint64_t>(abbreviation.fixed_bytes));
    StepVariable(abbreviation, cursor);
  }
  // Moves from behind the attributes of a DIE to its next sibling.
  void StepOverChildren(const Abbreviation& abbreviation, const Attributes& attributes,
                        ByteCursor& cursor) const {
    if (abbreviation.has_children) StepToSibling(attributes, cursor);
  }

  // Every record defined in the unit, in DIE order. This and the next four scan the unit on first use.
  const std::vector<RecordDie>& records();
  const std::vector<Scope>& scopes();
  const std::vector<ForeignTypedef>& foreign_typedefs();
  // Name of the first typedef of an anonymous record, null when it has none.
  const char* TypedefName(std::uint64_t record);
  // Scope of a record's definition or declaration; 0 for others.
  std::uint32_t ScopeOf(std::uint64_t record);

  // The directory the compiler ran in.
  const char* directory() const;
  // The file table of the unit's line program; empty when it has none or it is damaged.
  const LineFiles& files();

  // Looked at where the unit itself has no typedef of an anonymous record; null while the names are
  // collected.
  const ForeignNames* foreign_names = nullptr;
  // What TypeIdentity has found out about the unit's types, by NamesBy.
  IdentityMemo identities;
  IdentityMemo keys;
  // What the worker's TypeGraph calls the unit's types.
  std::unordered_map<std::uint64_t, std::uint32_t> graph_types;

 private:
  void Run(StepRange program, ByteCursor& cursor, Attributes& attributes) const;
  void ReadRoot();
  void Scan();
  void StepToSibling(const Attributes& attributes, ByteCursor& cursor) const;
  void StepOverPlain(ByteCursor& cursor) const;
  void StepVariable(const Abbreviation& abbreviation, ByteCursor& cursor) const;
  std::uint64_t ReadIndirect(FormStep step, ByteCursor& cursor, Attributes& attributes) const;
  const char* ReadString(std::uint16_t form, ByteCursor& cursor) const;
  std::uint64_t ReadReference(std::uint16_t form, ByteCursor& cursor) const;
  const char* IndexedString(std::uint64_t index) const;
  std::uint64_t Location(ByteCursor& cursor, std::uint64_t length, Attributes& attributes) const;
  std::uint32_t ScanScope(const Abbreviation& abbreviation, const RecordDie& die, ByteCursor& cursor);
  void ScanTypedef(const Abbreviation& abbreviation, ByteCursor& cursor);

  const Unit* unit_;
  const std::uint8_t* end_;
  bool little_endian_;
  bool native_order_;
  DecodingFacts facts_;
  std::shared_ptr<const AbbreviationTable> abbreviations_;
  Attributes root_;
  std::uint64_t string_offsets_ = 0;
  bool qualifies_names_ = false;
  bool scanned_ = false;
  std::vector<RecordDie> records_;
  std::vector<RecordDie> scoped_;  // definitions and declarations inside namespaces and records
  std::vector<Scope> scopes_;
  std::unordered_map<std::uint64_t, const char*> typedef_names_;
  std::vector<ForeignTypedef> foreign_typedefs_;
  std::unique_ptr<LineFiles> files_;
};

}  // namespace linesmith
