// SPDX-License-Identifier: GPL-2.0-or-later
// One unit as one worker reads it: decoded DIEs, its records, and what names its anonymous ones.
#pragma once

#include <cstdint>
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

// The wanted attributes of one DIE. Strings are stored as pointers into their section.
struct Attributes {
  SlotSet present = 0;
  bool complex_location = false;  // the member's place is computed at run time
  std::uint64_t values[kSlotCount];

  bool Has(Slot slot) const { return (present & SlotBit(slot)) != 0; }
  std::uint64_t Get(Slot slot, std::uint64_t absent = 0) const {
    return Has(slot) ? values[static_cast<unsigned>(slot)] : absent;
  }
  const char* Text(Slot slot) const { return Has(slot) ? reinterpret_cast<const char*>(Get(slot)) : ""; }
  void Set(Slot slot, std::uint64_t value) {
    present |= SlotBit(slot);
    values[static_cast<unsigned>(slot)] = value;
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

class UnitContext {
 public:
  // Decodes the root DIE. Throws Truncated when the unit is damaged.
  UnitContext(const Unit& unit, std::shared_ptr<const AbbreviationTable> abbreviations);

  const Unit& unit() const { return *unit_; }
  const Attributes& root() const { return root_; }
  const char* name() const { return root_.Text(Slot::kName); }

  // The DIE at a section offset inside this unit; throws Truncated for an offset outside or an unknown code.
  DieHead HeadAt(std::uint64_t offset) const;
  // The DIE at the cursor, which moves to its attributes.
  DieHead Head(ByteCursor& cursor) const {
    const std::uint64_t code = cursor.Uleb();
    if (code == 0) return {nullptr, cursor.position()};
    const Abbreviation* abbreviation = abbreviations_->Find(code);
    if (abbreviation == nullptr) [[unlikely]]
      throw Truncated();
    return {abbreviation, cursor.position()};
  }
  ByteCursor CursorAt(const std::uint8_t* place) const {
    return {place, unit_->section.data() + unit_->end, unit_->file->little_endian()};
  }
  std::uint64_t OffsetOf(const std::uint8_t* place) const {
    return static_cast<std::uint64_t>(place - unit_->section.data());
  }
  bool Contains(std::uint64_t offset) const { return offset >= unit_->first_die && offset < unit_->end; }

  // Decodes the wanted attributes; the cursor moves from the attributes to behind them.
  void Read(const Abbreviation& abbreviation, ByteCursor& cursor, Attributes& attributes) const {
    Run(abbreviation.read, cursor, attributes);
  }
  // The same without the attributes in kDeclarationSlots.
  void ReadType(const Abbreviation& abbreviation, ByteCursor& cursor, Attributes& attributes) const {
    Run(abbreviation.read_type, cursor, attributes);
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
                        ByteCursor& cursor) const;

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
  // What TypeIdentity has found out about the unit's types.
  OffsetMap identities;
  std::vector<std::uint64_t> file_identities;
  // What the worker's TypeGraph calls the unit's types.
  std::unordered_map<std::uint64_t, std::uint32_t> graph_types;

 private:
  void Run(StepRange program, ByteCursor& cursor, Attributes& attributes) const;
  void ReadRoot();
  void Scan();
  void StepVariable(const Abbreviation& abbreviation, ByteCursor& cursor) const;
  std::uint64_t ReadIndirect(FormStep step, ByteCursor& cursor, Attributes& attributes) const;
  const char* ReadString(std::uint16_t form, ByteCursor& cursor) const;
  std::uint64_t ReadReference(std::uint16_t form, ByteCursor& cursor) const;
  const char* IndexedString(std::uint64_t index) const;
  std::uint64_t Location(ByteCursor& cursor, std::uint64_t length, Attributes& attributes) const;
  std::uint32_t ScanScope(const Abbreviation& abbreviation, const RecordDie& die, ByteCursor& cursor);
  void ScanTypedef(const Abbreviation& abbreviation, ByteCursor& cursor);

  const Unit* unit_;
  std::shared_ptr<const AbbreviationTable> abbreviations_;
  Attributes root_;
  std::uint64_t string_offsets_ = 0;
  bool qualifies_names_ = false;  // the language has namespaces and nested types
  bool scanned_ = false;
  std::vector<RecordDie> records_;
  std::vector<RecordDie> scoped_;  // definitions and declarations inside namespaces and records
  std::vector<Scope> scopes_;
  std::unordered_map<std::uint64_t, const char*> typedef_names_;
  std::vector<ForeignTypedef> foreign_typedefs_;
  std::unique_ptr<LineFiles> files_;
};

}  // namespace linesmith
