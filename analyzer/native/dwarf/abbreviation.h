// SPDX-License-Identifier: GPL-2.0-or-later
// Abbreviation tables (DWARF 5, 7.5.3), each entry compiled once into short programs that step over a
// DIE's attributes or decode those the readers ask for.
#pragma once

#include <array>
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

// Stands for the size of a form that differs from DIE to DIE.
constexpr std::uint32_t kVaries = UINT32_MAX;

// One step of a program: a DW_FORM of `bytes` to read into `slot`, or (`form` 0) `bytes` to step over.
struct FormStep {
  std::uint16_t form = 0;
  Slot slot = Slot::kNone;
  std::uint32_t bytes = 0;
  std::int64_t implicit = 0;
};

// Where a DIE has an attribute whose place is the same in all DIEs of the abbreviation.
struct FixedPlace {
  static constexpr std::uint8_t kConstant = 64;

  std::uint8_t end = 0;         // behind its last byte, counted from where the fixed attributes start
  std::uint8_t other_bits = 0;  // of 64; or kConstant: it is AbbreviationTable::constants()[first + end]
};

// What a scan over a whole unit does at a DIE.
enum class ScanAction : std::uint8_t { kStep, kJump, kRecord, kTypedef, kNamespace };

// A program: a range of AbbreviationTable::steps().
struct StepRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

// Attributes that are decoded to references and to texts; all others are numbers.
constexpr SlotSet kReferenceSlots = SlotBit(Slot::kType) | SlotBit(Slot::kAbstractOrigin) |
                                    SlotBit(Slot::kSpecification) | SlotBit(Slot::kSignature) |
                                    SlotBit(Slot::kSibling);
constexpr SlotSet kTextSlots = SlotBit(Slot::kName) | SlotBit(Slot::kCompilationDirectory) |
                               SlotBit(Slot::kDwoName) | SlotBit(Slot::kLinkageName);

struct Abbreviation {
  std::uint16_t tag = 0;
  bool has_children = false;
  ScanAction action = ScanAction::kStep;
  SlotSet slots = 0;              // which slots the DIE has, by SlotBit
  std::int32_t fixed_bytes = -1;  // size of all attributes when no form varies
  StepRange skip;                 // steps over all attributes, where fixed_bytes does not
  StepRange read;                 // decodes the wanted ones
  bool is_fixed = false;          // all wanted ones are at fixed places, or are so
  bool name_first = false;        // behind the name, which stands in the DIE as a string
  std::uint8_t places_bytes = 0;  // of the attributes at fixed places
  std::uint32_t first_constant = 0;
  std::array<FixedPlace, kSlotCount> places;

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
    return FindSparse(code);
  }
  const FormStep* steps() const { return steps_.data(); }
  std::size_t step_count() const { return steps_.size(); }
  const std::uint64_t* constants() const { return constants_.data(); }
  // By the first byte of a DIE: its size where it has no children and a scan would only step over it, else 0.
  const std::array<std::uint8_t, 256>& plain_sizes() const { return plain_sizes_; }
  // Size of the table in its section.
  std::uint64_t bytes() const { return bytes_; }

 private:
  const Abbreviation* FindSparse(std::uint64_t code) const;
  void Add(std::uint64_t code, Abbreviation abbreviation);
  bool FindPlaces(Abbreviation& abbreviation, const std::vector<FormStep>& attributes);
  StepRange Assemble(const std::vector<FormStep>& attributes, SlotSet slots);
  void Compile(Abbreviation& abbreviation, const std::vector<FormStep>& attributes);

  FormWidths widths_;
  std::uint64_t bytes_ = 0;
  std::vector<Abbreviation> dense_;  // codes 1, 2, 3 ... as producers number them
  std::unordered_map<std::uint64_t, Abbreviation> sparse_;
  std::vector<FormStep> steps_;
  std::vector<std::uint64_t> constants_;
  std::array<std::uint8_t, 256> plain_sizes_{};
};

}  // namespace linesmith
