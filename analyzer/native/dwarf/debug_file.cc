// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/debug_file.h"

#include <dwarf.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "elf/byte_cursor.h"

namespace linesmith {
namespace {

// Reads the length, version and fixed fields of a unit header; `unit.offset` is set, the rest is filled in.
void ReadUnitHeader(ByteCursor& cursor, bool types, Unit& unit) {
  std::uint64_t length = cursor.U32();
  if (length == 0xffffffff) {
    length = cursor.U64();
    unit.widths.offset_bytes = 8;
  } else if (length >= 0xfffffff0) {
    throw Truncated();
  }
  if (length > cursor.left()) throw Truncated();
  unit.end = static_cast<std::uint64_t>(cursor.position() - unit.section.data()) + length;
  unit.version = cursor.U16();
  if (unit.version < 2 || unit.version > 5) throw Truncated();
  unit.unit_type = types ? DW_UT_type : DW_UT_compile;
  if (unit.version >= 5) {
    unit.unit_type = cursor.U8();
    unit.widths.address_bytes = cursor.U8();
    unit.abbreviations = cursor.Unsigned(unit.widths.offset_bytes);
  } else {
    unit.abbreviations = cursor.Unsigned(unit.widths.offset_bytes);
    unit.widths.address_bytes = cursor.U8();
  }
  unit.widths.reference_bytes = unit.version == 2 ? unit.widths.address_bytes : unit.widths.offset_bytes;
  const bool type_unit = unit.unit_type == DW_UT_type || unit.unit_type == DW_UT_split_type;
  const bool with_id = unit.unit_type == DW_UT_skeleton || unit.unit_type == DW_UT_split_compile;
  if (type_unit || with_id) unit.signature = cursor.U64();
  if (type_unit) unit.type_offset = unit.offset + cursor.Unsigned(unit.widths.offset_bytes);
  unit.first_die = static_cast<std::uint64_t>(cursor.position() - unit.section.data());
  if (unit.first_die > unit.end) throw Truncated();
}

// A unit of a few bytes takes a hundred times as much memory here, and compressed next to nothing in the
// file. Units of compilers have at least a hundred bytes, which are compressed to a fourth.
constexpr std::uint64_t kMostUnits = std::uint64_t{1} << 20;
constexpr std::uint64_t kLeastFileBytesPerUnit = 16;

bool IsAddressWidth(std::uint8_t bytes) { return bytes == 2 || bytes == 4 || bytes == 8; }

}  // namespace

StringSection::StringSection(Bytes section) : bytes(section), limit(section.size()) {
  while (limit > 0 && bytes[limit - 1] != 0) --limit;
}

DebugFile::DebugFile(ElfFile elf, std::string_view suffix) : elf_(std::move(elf)), suffix_(suffix) {
  const auto load = [&](std::string_view name) { return elf_.Section(std::string(name).append(suffix)); };
  sections_.abbreviations = load(".debug_abbrev");
  sections_.string_offsets = load(".debug_str_offsets");
  sections_.lines = load(".debug_line");
  sections_.strings = StringSection(load(".debug_str"));
  sections_.line_strings = StringSection(load(".debug_line_str"));
  std::size_t section_index = 0;
  for (const char* kind : {"info", "types"}) {
    const std::string plain = std::string(".debug_").append(kind).append(suffix);
    const std::string packed = std::string(".zdebug_").append(kind).append(suffix);
    for (const ElfSection& section : elf_.sections()) {
      if ((section.name != plain && section.name != packed) || section.type == SHT_NOBITS) continue;
      ReadUnits(elf_.Section(section), section_index++, kind == std::string_view("types"));
    }
  }
}

const PlaceSections& DebugFile::place_sections() const {
  std::call_once(places_loaded_, [this] {
    places_ = {.addresses = elf_.Section(".debug_addr"),
               .ranges = elf_.Section(".debug_ranges"),
               .range_lists = elf_.Section(".debug_rnglists" + suffix_),
               .locations = elf_.Section(".debug_loc" + suffix_),
               .location_lists = elf_.Section(".debug_loclists" + suffix_)};
  });
  return places_;
}

void DebugFile::ReadUnits(Bytes section, std::size_t section_index, bool types) {
  ByteCursor cursor(section, little_endian());
  while (!cursor.done()) {
    auto unit = std::make_unique<Unit>();
    unit->file = this;
    unit->section = section;
    unit->section_index = section_index;
    unit->offset = static_cast<std::uint64_t>(cursor.position() - section.data());
    try {
      ReadUnitHeader(cursor, types, *unit);
    } catch (const Truncated&) {
      ThrowDamaged(unit->offset);
    }
    if (!IsAddressWidth(unit->widths.address_bytes)) ThrowDamaged(unit->offset);
    cursor.ForwardTo(section.data() + unit->end);
    if (unit->type_offset != 0) type_units_.emplace(unit->signature, unit.get());
    units_.push_back(std::move(unit));
    if (units_.size() > kMostUnits + elf_.image_bytes() / kLeastFileBytesPerUnit) ThrowTooManyUnits();
  }
}

void DebugFile::ThrowTooManyUnits() const {
  throw Error("DebugInfoDamaged", path() +
                                      ": .debug_info has more units than a file of this size can have; it is "
                                      "damaged or made to exhaust memory: rebuild it");
}

void DebugFile::ThrowDamaged(std::uint64_t offset) const {
  char place[32];
  std::snprintf(place, sizeof place, "0x%llx", static_cast<unsigned long long>(offset));
  throw Error("DebugInfoDamaged",
              path() + ": the unit header at offset " + place +
                  " of .debug_info is cut off or of an unknown DWARF version; rebuild the file, "
                  "or read its BTF instead");
}

const Unit* DebugFile::UnitAt(std::size_t section_index, std::uint64_t offset) const {
  const auto behind = [](const std::pair<std::size_t, std::uint64_t>& place,
                         const std::unique_ptr<Unit>& unit) {
    return place < std::pair(unit->section_index, unit->offset);
  };
  auto next = std::upper_bound(units_.begin(), units_.end(), std::pair(section_index, offset), behind);
  if (next == units_.begin()) return nullptr;
  const Unit* unit = std::prev(next)->get();
  return unit->section_index == section_index && offset >= unit->first_die && offset < unit->end ? unit
                                                                                                 : nullptr;
}

const Unit* DebugFile::TypeUnit(std::uint64_t signature) const {
  const auto found = type_units_.find(signature);
  return found != type_units_.end() ? found->second : nullptr;
}

}  // namespace linesmith
