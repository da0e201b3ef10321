// SPDX-License-Identifier: GPL-2.0-or-later
// One file with DWARF in it: its sections, its units, and the files it leans on.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "dwarf/abbreviation.h"
#include "elf/elf_file.h"

namespace linesmith {

// A string section and how much of it is safe: an offset below `limit` has a NUL behind it.
struct StringSection {
  Bytes bytes;
  std::uint64_t limit = 0;

  explicit StringSection(Bytes section = {});
  // Empty string for an offset outside; damage in a name is no reason to lose a layout.
  const char* At(std::uint64_t offset) const {
    return offset < limit ? reinterpret_cast<const char*>(bytes.data() + offset) : "";
  }
};

class DebugFile;

// The header of one compile, type, partial or skeleton unit (DWARF 5, 7.5.1). Offsets are in its section.
struct Unit {
  const DebugFile* file = nullptr;
  Bytes section;                        // .debug_info, .debug_types, or one of several of that name
  std::size_t section_index = 0;        // position of the section in the file's list
  std::uint64_t offset = 0;             // of the header
  std::uint64_t first_die = 0;          // of the root DIE
  std::uint64_t end = 0;                // behind the unit's last byte
  std::uint64_t abbreviations = 0;      // offset in .debug_abbrev
  std::uint64_t signature = 0;          // of a type unit, or the DWO id
  std::uint64_t type_offset = 0;        // DIE that a type unit is about; 0 for other units
  std::uint64_t string_offsets = 0;     // where the unit's part of .debug_str_offsets starts
  std::uint64_t line_tables = 0;        // where the unit's part of .debug_line starts
  std::uint64_t location_lists = 0;     // where the unit's part of .debug_loclists or .debug_loc starts
  std::uint64_t range_lists = 0;        // where the unit's part of .debug_rnglists starts
  const Unit* skeleton = nullptr;       // the unit in the linked file that names this split unit
  std::uint64_t skeleton_lines = 0;     // its line table, for split units without one of their own
  const char* skeleton_directory = "";  // its compilation directory
  std::uint32_t index = 0;              // position in reading order; part of every record's sort key
  std::uint16_t version = 5;
  std::uint8_t unit_type = 0;
  FormWidths widths;
};

// Sections by their plain name; a split file stores them with the suffix ".dwo".
struct DwarfSections {
  Bytes abbreviations;
  Bytes string_offsets;
  Bytes lines;
  StringSection strings;
  StringSection line_strings;
};

// What says where variables and code are; of no interest to who reads layouts.
struct PlaceSections {
  Bytes addresses;       // .debug_addr
  Bytes ranges;          // .debug_ranges, DWARF 2 to 4
  Bytes range_lists;     // .debug_rnglists, DWARF 5
  Bytes locations;       // .debug_loc, DWARF 2 to 4
  Bytes location_lists;  // .debug_loclists, DWARF 5
};

// Not copied and not moved: units point to it.
class DebugFile {
 public:
  // `suffix` is "" or ".dwo". Throws Error("DebugInfoDamaged") when a unit header is impossible.
  DebugFile(ElfFile elf, std::string_view suffix);
  DebugFile(const DebugFile&) = delete;
  DebugFile& operator=(const DebugFile&) = delete;

  const std::string& path() const { return elf_.path(); }
  ElfFile& elf() { return elf_; }
  bool little_endian() const { return elf_.header().little_endian; }
  std::uint16_t machine() const { return elf_.header().machine; }
  const DwarfSections& sections() const { return sections_; }
  // Loaded on first use, by whichever thread asks. Throws Error("ElfError") when one is damaged.
  const PlaceSections& place_sections() const;
  const std::vector<std::unique_ptr<Unit>>& units() const { return units_; }
  bool has_units() const { return !units_.empty(); }

  // The unit of section `section_index` that holds `offset`; null when none does.
  const Unit* UnitAt(std::size_t section_index, std::uint64_t offset) const;
  // The type unit with this signature; null when the file has none.
  const Unit* TypeUnit(std::uint64_t signature) const;

  // The dwz file that DW_FORM_GNU_ref_alt and DW_FORM_ref_sup refer to; null when there is none.
  const DebugFile* supplement = nullptr;

 private:
  void ReadUnits(Bytes section, std::size_t section_index, bool types);
  [[noreturn]] void ThrowTooManyUnits() const;
  [[noreturn]] void ThrowDamaged(std::uint64_t offset) const;

  mutable ElfFile elf_;
  std::string suffix_;
  DwarfSections sections_;
  mutable std::once_flag places_loaded_;
  mutable PlaceSections places_;
  std::vector<std::unique_ptr<Unit>> units_;
  std::unordered_map<std::uint64_t, const Unit*> type_units_;
};

}  // namespace linesmith
