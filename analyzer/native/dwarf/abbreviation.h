// SPDX-License-Identifier: GPL-2.0-or-later
// Abbreviation tables (DWARF 5, 7.5.3), each entry compiled once into short programs that step over a
// DIE's attributes or decode those the readers ask for.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "elf/elf_file.h"

namespace linesmith {

// The attributes that any reader of this library looks at; everything else is skipped.
enum class Slot : std::uint8_t {
  kName,
  kType,
  kByteSize,
  kMemberLocation,
  kBitOffset,
  kBitSize,
  kDataBitOffset,
  kDeclFile,
  kDeclLine,
  kDeclaration,
  kUpperBound,
  kCount,
  kAlignment,
  kEncoding,
  kConstValue,
  kAbstractOrigin,
  kSpecification,
  kSignature,
  kLowPc,
  kRanges,
  kSibling,
  kStatementList,
  kCompilationDirectory,
  kLanguage,
  kStringOffsetsBase,
  kDwoName,
  kDwoId,
  kVector,
  kLinkageName,
  kExternal,
  kHighPc,
  kLocation,
  kFrameBase,
  kCallFile,
  kCallLine,
  kAddressBase,
  kRangeListsBase,
  kLocationListsBase,
  kNoReturn,
  kDataLocation,
  kNone,
};
constexpr std::size_t kSlotCount = static_cast<std::size_t>(Slot::kNone);

using SlotSet = std::uint64_t;

constexpr SlotSet SlotBit(Slot slot) { return SlotSet{1} << static_cast<unsigned>(slot); }

// One step of a program: a DW_FORM to read into `slot`, or (`form` 0) `bytes` to step over.
struct FormStep {
  std::uint16_t form = 0;
  Slot slot = Slot::kNone;
  std::uint32_t bytes = 0;
  std::int64_t implicit = 0;
};

// What a scan over a whole unit does at a DIE.
enum class ScanAction : std::uint8_t { kStep, kJump, kRecord, kTypedef, kNamespace };

// A program: a range of AbbreviationTable::steps().
struct StepRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

// Where a DIE was declared: of no interest when only the type itself is compared.
constexpr SlotSet kDeclarationSlots =
    SlotBit(Slot::kDeclFile) | SlotBit(Slot::kDeclLine) | SlotBit(Slot::kExternal);

struct Abbreviation {
  std::uint16_t tag = 0;
  bool has_children = false;
  ScanAction action = ScanAction::kStep;
  SlotSet slots = 0;              // which slots the DIE has, by SlotBit
  std::int32_t fixed_bytes = -1;  // size of all attributes when no form varies
  StepRange skip;                 // steps over all attributes, where fixed_bytes does not
  StepRange read;                 // decodes the wanted ones
  StepRange read_type;            // decodes the wanted ones but kDeclarationSlots

  bool Has(Slot slot) const { return (slots & SlotBit(slot)) != 0; }
};

// What the width of a form depends on besides the form.
struct FormWidths {
  std::uint8_t address_bytes = 8;
  std::uint8_t offset_bytes = 4;
  std::uint8_t reference_bytes = 4;  // DW_FORM_ref_addr: an address in DWARF 2, an offset since

  bool operator==(const FormWidths&) const = default;
};

class AbbreviationTable {
 public:
  // Throws Truncated when the table leaves `section` or describes a form that no DWARF version defines.
  AbbreviationTable(Bytes section, std::uint64_t offset, FormWidths widths);

  // Null for a code that the table does not declare.
  const Abbreviation* Find(std::uint64_t code) const {
    if (code - 1 < dense_.size()) [[likely]]
      return &dense_[code - 1];
    const auto found = sparse_.find(code);
    return found != sparse_.end() ? &found->second : nullptr;
  }
  const FormStep* steps() const { return steps_.data(); }
  std::size_t step_count() const { return steps_.size(); }
  // Size of the table in its section.
  std::uint64_t bytes() const { return bytes_; }

 private:
  void Add(std::uint64_t code, Abbreviation abbreviation);
  StepRange Assemble(const std::vector<FormStep>& attributes, SlotSet slots);
  void Compile(Abbreviation& abbreviation, const std::vector<FormStep>& attributes);

  FormWidths widths_;
  std::uint64_t bytes_ = 0;
  std::vector<Abbreviation> dense_;  // codes 1, 2, 3 ... as producers number them
  std::unordered_map<std::uint64_t, Abbreviation> sparse_;
  std::vector<FormStep> steps_;
};

}  // namespace linesmith
