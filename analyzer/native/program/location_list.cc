// SPDX-License-Identifier: GPL-2.0-or-later
#include "program/location_list.h"

#include <dwarf.h>

#include <algorithm>

namespace linesmith {
namespace {

constexpr std::uint8_t kViewPair = 9;  // DW_LLE_GNU_view_pair; not in every dwarf.h

Bytes Take(ByteCursor& cursor, std::uint64_t length) {
  const std::uint8_t* start = cursor.position();
  cursor.Skip(length);
  return {start, length};
}

class ListOfLocations {
 public:
  ListOfLocations(const UnitAddresses& addresses, Bytes section, std::vector<ListedLocation>& locations)
      : addresses_(addresses), cursor_(section, addresses.little_endian()), locations_(locations) {}

  void ReadDwarf5();
  void ReadDwarf4();
  void ReadSplitDwarf4();

 private:
  bool More() const { return !cursor_.done() && locations_.size() < kMostListEntries; }
  void Keep(AddressRange range, Bytes expression) {
    addresses_.Spend(1 + expression.size());
    if (range.low < range.high) locations_.push_back({range, expression});
  }

  const UnitAddresses& addresses_;
  ByteCursor cursor_;
  std::vector<ListedLocation>& locations_;
};

void ListOfLocations::ReadDwarf5() {
  ListReader reader(addresses_);
  while (More()) {
    addresses_.Spend(1);
    const std::uint8_t kind = cursor_.U8();
    if (kind == kViewPair) {
      cursor_.Uleb();
      cursor_.Uleb();
    } else if (kind == DW_LLE_default_location) {
      locations_.push_back({{}, Take(cursor_, cursor_.Uleb())});
    } else {
      // From here on the kinds of location lists are numbered one higher than those of range lists.
      const auto shared = static_cast<std::uint8_t>(kind > DW_LLE_default_location ? kind - 1 : kind);
      const ListEntry entry = reader.Read(shared, cursor_);
      if (entry == ListEntry::kEnd) return;
      if (entry == ListEntry::kRange) Keep(reader.range(), Take(cursor_, cursor_.Uleb()));
    }
  }
}

void ListOfLocations::ReadDwarf4() {
  const unsigned width = addresses_.address_bytes();
  const std::uint64_t largest = ~std::uint64_t{0} >> (64 - 8 * width);
  std::uint64_t base = addresses_.base();
  while (More()) {
    addresses_.Spend(1);
    const std::uint64_t low = cursor_.Unsigned(width);
    const std::uint64_t high = cursor_.Unsigned(width);
    if (low == 0 && high == 0) return;
    if (low == largest) {
      base = high;
      continue;
    }
    Keep({base + low, base + high}, Take(cursor_, cursor_.U16()));
  }
}

// As gcc -gsplit-dwarf writes it for DWARF 4: indices into .debug_addr, lengths of four bytes.
void ListOfLocations::ReadSplitDwarf4() {
  while (More()) {
    addresses_.Spend(1);
    const std::uint8_t kind = cursor_.U8();
    if (kind == DW_LLE_GNU_end_of_list_entry) return;
    const std::uint64_t low = addresses_.Indexed(cursor_.Uleb()).value_or(0);
    if (kind == DW_LLE_GNU_base_address_selection_entry) continue;  // all entries are absolute
    AddressRange range;
    if (kind == DW_LLE_GNU_start_end_entry) {
      range = {low, addresses_.Indexed(cursor_.Uleb()).value_or(0)};
    } else if (kind == DW_LLE_GNU_start_length_entry) {
      range = {low, low + cursor_.U32()};
    } else {
      throw Truncated();
    }
    Keep(range, Take(cursor_, cursor_.U16()));
  }
}

}  // namespace

std::vector<ListedLocation> ReadLocationList(const UnitAddresses& addresses, std::uint64_t offset) {
  std::vector<ListedLocation> locations;
  const bool old = addresses.unit().version < 5;
  const PlaceSections& places = addresses.sections();
  const Bytes section = old ? places.locations : places.location_lists;
  if (offset >= section.size()) return locations;
  ListOfLocations list(addresses, section.subspan(offset), locations);
  try {
    if (!old) {
      list.ReadDwarf5();
    } else if (addresses.unit().skeleton != nullptr) {
      list.ReadSplitDwarf4();
    } else {
      list.ReadDwarf4();
    }
  } catch (const Truncated&) {
  }
  return locations;
}

std::vector<AddressRange> Uncovered(const std::vector<AddressRange>& ranges,
                                    const std::vector<ListedLocation>& list) {
  std::vector<AddressRange> covered;
  for (const ListedLocation& entry : list) {
    if (entry.range.low < entry.range.high) covered.push_back(entry.range);
  }
  std::ranges::sort(covered, {}, &AddressRange::low);
  std::vector<AddressRange> sorted = ranges;
  std::ranges::sort(sorted, {}, &AddressRange::low);
  std::vector<AddressRange> gaps;
  std::uint64_t known = 0;  // everything below is covered or no concern of the ranges to come
  auto next = covered.begin();
  for (const AddressRange& range : sorted) {
    known = std::max(known, range.low);
    while (known < range.high) {
      for (; next != covered.end() && next->low <= known; ++next) known = std::max(known, next->high);
      const std::uint64_t end = next == covered.end() ? range.high : std::min(range.high, next->low);
      if (known < end) gaps.push_back({known, end});
      known = std::max(known, end);
    }
  }
  return gaps;
}

}  // namespace linesmith
