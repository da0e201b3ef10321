// SPDX-License-Identifier: GPL-2.0-or-later
#include "program/unit_addresses.h"

#include <dwarf.h>

namespace linesmith {
namespace {

constexpr std::size_t kMostRanges = 100'000;
// What a range counts against the limit of UnitPool::Spend(): it takes more memory than its entry has bytes.
constexpr std::uint64_t kStepsPerRange = 8;

// Bytes of a DWARF 5 header of .debug_rnglists or .debug_loclists; split units count from behind it.
std::uint64_t ListHeaderBytes(const Unit& unit) { return unit.widths.offset_bytes == 8 ? 20 : 12; }

Bytes From(Bytes section, std::uint64_t offset) {
  return offset <= section.size() ? section.subspan(offset) : Bytes();
}

std::uint64_t LargestAddress(unsigned bytes) { return ~std::uint64_t{0} >> (64 - 8 * bytes); }

// What the offset table at `base` says of list `index`.
std::optional<std::uint64_t> ListAt(const Unit& unit, Bytes section, std::uint64_t base,
                                    std::uint64_t index) {
  const Bytes table = From(section, base);
  const unsigned width = unit.widths.offset_bytes;
  if (index >= table.size() / width) return std::nullopt;
  ByteCursor entry(table.subspan(index * width), unit.file->little_endian());
  return base + entry.Unsigned(width);
}

}  // namespace

UnitAddresses::UnitAddresses(UnitPool& pool, UnitContext& unit) : pool_(pool), unit_(unit) {
  const Unit& header = unit.unit();
  UnitContext& linked = header.skeleton != nullptr ? pool.Open(*header.skeleton) : unit;
  const PlaceSections& places = linked.unit().file->place_sections();
  const bool split = header.skeleton != nullptr;
  const bool listed = header.version >= 5 && split;
  addresses_ = From(places.addresses, linked.root().Get(Slot::kAddressBase, header.version >= 5 ? 8 : 0));
  old_ranges_ = places.ranges;
  if (split && header.version < 5) old_ranges_base_ = linked.root().Get(Slot::kRangeListsBase);
  const std::uint64_t behind_header = listed ? ListHeaderBytes(header) : 0;
  range_lists_ = header.range_lists + unit.root().Get(Slot::kRangeListsBase, behind_header);
  location_lists_ = header.location_lists + unit.root().Get(Slot::kLocationListsBase, behind_header);
  if (linked.unit().first_die >= linked.unit().end) return;
  ByteCursor cursor = linked.CursorAt(linked.unit().section.data() + linked.unit().first_die);
  const DieHead root = linked.Head(cursor);
  if (root.abbreviation == nullptr) return;
  DieValues values;
  ReadValues(linked, *root.abbreviation, cursor, values);
  if (values.Has(Slot::kLowPc))
    base_ = Address(values.Form(Slot::kLowPc), values.Get(Slot::kLowPc)).value_or(0);
}

std::optional<std::uint64_t> UnitAddresses::Indexed(std::uint64_t index) const {
  if (index >= addresses_.size() / address_bytes()) return std::nullopt;
  ByteCursor entry(addresses_.subspan(index * address_bytes()), little_endian());
  return entry.Unsigned(address_bytes());
}

std::optional<std::uint64_t> UnitAddresses::Address(std::uint16_t form, std::uint64_t value) const {
  switch (form) {
    case DW_FORM_addr:
      return value;
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index:
      return Indexed(value);
    default:
      return std::nullopt;
  }
}

// GNU ld leaves 0 (in lists 1), lld the largest address or, in lists before DWARF 5, the one below it.
bool UnitAddresses::IsDropped(std::uint64_t address) const {
  return address == 0 || address >= LargestAddress(address_bytes()) - 1;
}

void UnitAddresses::Append(AddressRange range, std::vector<AddressRange>& ranges) const {
  if (range.low >= range.high || IsDropped(range.low)) return;
  if (ranges.size() >= kMostRanges) throw Truncated();
  ranges.push_back(range);
}

std::vector<AddressRange> UnitAddresses::RangesOf(const DieValues& die) const {
  std::vector<AddressRange> ranges;
  if (die.Has(Slot::kRanges)) {
    const std::uint64_t value = die.Get(Slot::kRanges);
    if (unit().version < 5) {
      ReadOldRanges(old_ranges_base_ + value, ranges);
    } else if (die.Form(Slot::kRanges) != DW_FORM_rnglistx) {
      ReadRangeList(unit().range_lists + value, ranges);
    } else if (const auto offset = ListAt(unit(), sections().range_lists, range_lists_, value)) {
      ReadRangeList(*offset, ranges);
    }
    return ranges;
  }
  if (!die.Has(Slot::kLowPc) || !die.Has(Slot::kHighPc)) return ranges;
  const auto low = Address(die.Form(Slot::kLowPc), die.Get(Slot::kLowPc));
  if (!low) return ranges;
  const auto high = Address(die.Form(Slot::kHighPc), die.Get(Slot::kHighPc));
  Append({*low, high ? *high : *low + die.Get(Slot::kHighPc)}, ranges);
  return ranges;
}

void UnitAddresses::ReadOldRanges(std::uint64_t offset, std::vector<AddressRange>& ranges) const {
  ByteCursor cursor(From(old_ranges_, offset), little_endian());
  std::uint64_t base = base_;
  while (!cursor.done()) {
    Spend(kStepsPerRange);
    const std::uint64_t low = cursor.Unsigned(address_bytes());
    const std::uint64_t high = cursor.Unsigned(address_bytes());
    if (low == 0 && high == 0) return;
    if (low == LargestAddress(address_bytes())) {
      base = high;
    } else if (low != high) {
      Append({base + low, base + high}, ranges);
    }
  }
}

void UnitAddresses::ReadRangeList(std::uint64_t offset, std::vector<AddressRange>& ranges) const {
  ByteCursor cursor(From(sections().range_lists, offset), little_endian());
  ListReader reader(*this);
  while (!cursor.done()) {
    Spend(kStepsPerRange);
    const ListEntry entry = reader.Read(cursor.U8(), cursor);
    if (entry == ListEntry::kEnd) return;
    if (entry == ListEntry::kRange) Append(reader.range(), ranges);
  }
}

std::optional<std::uint64_t> UnitAddresses::LocationList(std::uint16_t form, std::uint64_t value) const {
  switch (form) {
    case DW_FORM_loclistx:
      return ListAt(unit(), sections().location_lists, location_lists_, value);
    case DW_FORM_sec_offset:
      return unit().location_lists + value;
    case DW_FORM_data4:  // before DWARF 4
    case DW_FORM_data8:
      return value;
    default:
      return std::nullopt;
  }
}

ListEntry ListReader::Read(std::uint8_t kind, ByteCursor& cursor) {
  const unsigned width = addresses_.address_bytes();
  switch (kind) {
    case DW_RLE_end_of_list:
      return ListEntry::kEnd;
    case DW_RLE_base_addressx:
      base_ = addresses_.Indexed(cursor.Uleb());
      return ListEntry::kBase;
    case DW_RLE_base_address:
      base_ = cursor.Unsigned(width);
      return ListEntry::kBase;
    case DW_RLE_startx_endx: {
      const auto low = addresses_.Indexed(cursor.Uleb());
      return SetRange(low, addresses_.Indexed(cursor.Uleb()));
    }
    case DW_RLE_startx_length: {
      const auto low = addresses_.Indexed(cursor.Uleb());
      return SetLength(low, cursor.Uleb());
    }
    case DW_RLE_offset_pair: {
      const std::uint64_t low = cursor.Uleb();
      const std::uint64_t high = cursor.Uleb();
      if (!base_ || addresses_.IsDropped(*base_ == 0 ? 1 : *base_)) return SetRange({}, {});
      return SetRange(*base_ + low, *base_ + high);
    }
    case DW_RLE_start_end: {
      const std::uint64_t low = cursor.Unsigned(width);
      return SetRange(low, cursor.Unsigned(width));
    }
    case DW_RLE_start_length: {
      const std::uint64_t low = cursor.Unsigned(width);
      return SetLength(low, cursor.Uleb());
    }
    default:
      throw Truncated();
  }
}

ListEntry ListReader::SetRange(std::optional<std::uint64_t> low, std::optional<std::uint64_t> high) {
  range_ = low && high ? AddressRange{*low, *high} : AddressRange{};
  return ListEntry::kRange;
}

ListEntry ListReader::SetLength(std::optional<std::uint64_t> low, std::uint64_t length) {
  return low ? SetRange(*low, *low + length) : SetRange({}, {});
}

}  // namespace linesmith
