// SPDX-License-Identifier: GPL-2.0-or-later
// How a unit writes addresses and ranges of code: DW_FORM_addr, .debug_addr, .debug_ranges, .debug_rnglists.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "program/address_range.h"
#include "program/die_values.h"

namespace linesmith {

class UnitAddresses {
 public:
  // Split units take their address table and base from their skeleton.
  UnitAddresses(UnitPool& pool, UnitContext& unit);

  const Unit& unit() const { return unit_.unit(); }
  bool little_endian() const { return unit().file->little_endian(); }
  unsigned address_bytes() const { return unit().widths.address_bytes; }
  const PlaceSections& sections() const { return unit().file->place_sections(); }
  // What offsets in lists are relative to until a list says otherwise.
  std::uint64_t base() const { return base_; }
  // Entry `index` of the unit's part of .debug_addr; nothing where the table ends before it.
  std::optional<std::uint64_t> Indexed(std::uint64_t index) const;
  // An attribute of class address; nothing for other forms.
  std::optional<std::uint64_t> Address(std::uint16_t form, std::uint64_t value) const;
  // The ranges of code that a DIE covers, in the order written; what the linker dropped has none.
  std::vector<AddressRange> RangesOf(const DieValues& die) const;
  // Where in .debug_loclists (.debug_loc before DWARF 5) the list of a DW_AT_location begins; nothing when
  // the attribute is no list.
  std::optional<std::uint64_t> LocationList(std::uint16_t form, std::uint64_t value) const;
  // Whether linkers write this address where they dropped the code.
  bool IsDropped(std::uint64_t address) const;
  // Counts what is read from sections that units may share. Throws Truncated when a made-up file lets many
  // units read the same bytes over and over.
  void Spend(std::uint64_t steps) const { pool_.Spend(steps); }

 private:
  void ReadOldRanges(std::uint64_t offset, std::vector<AddressRange>& ranges) const;
  void ReadRangeList(std::uint64_t offset, std::vector<AddressRange>& ranges) const;
  void Append(AddressRange range, std::vector<AddressRange>& ranges) const;

  UnitPool& pool_;
  UnitContext& unit_;
  Bytes addresses_;   // of .debug_addr, from the unit's first entry on
  Bytes old_ranges_;  // .debug_ranges
  std::uint64_t base_ = 0;
  std::uint64_t old_ranges_base_ = 0;
  std::uint64_t range_lists_ = 0;     // what DW_FORM_rnglistx counts from
  std::uint64_t location_lists_ = 0;  // what DW_FORM_loclistx counts from
};

enum class ListEntry : std::uint8_t { kEnd, kBase, kRange };

// The entries that range lists and location lists of DWARF 5 have in common (2.6.2, 2.17.3).
class ListReader {
 public:
  explicit ListReader(const UnitAddresses& addresses) : addresses_(addresses), base_(addresses.base()) {}

  // Reads an entry whose kind, numbered as DW_RLE_, is read already. Throws Truncated for an unknown one.
  ListEntry Read(std::uint8_t kind, ByteCursor& cursor);
  // The range of the last kRange; empty where it means nothing.
  const AddressRange& range() const { return range_; }

 private:
  ListEntry SetRange(std::optional<std::uint64_t> low, std::optional<std::uint64_t> high);
  ListEntry SetLength(std::optional<std::uint64_t> low, std::uint64_t length);

  const UnitAddresses& addresses_;
  std::optional<std::uint64_t> base_;
  AddressRange range_;
};

}  // namespace linesmith
