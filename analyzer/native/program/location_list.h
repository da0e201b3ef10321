// SPDX-License-Identifier: GPL-2.0-or-later
// Location lists of all versions (DWARF 5, 2.6.2; DWARF 4, 2.6.2; the GNU form of split DWARF 4).
#pragma once

#include <vector>

#include "program/unit_addresses.h"

namespace linesmith {

// A list is cut after this many entries.
constexpr std::size_t kMostListEntries = 100'000;

// One entry; an empty range stands for wherever no other entry says anything (DW_LLE_default_location).
struct ListedLocation {
  AddressRange range;
  Bytes expression;
};

// The entries of the list at `offset` of .debug_loclists (before DWARF 5: .debug_loc), in front of any
// damage.
std::vector<ListedLocation> ReadLocationList(const UnitAddresses& addresses, std::uint64_t offset);

// The parts of `ranges` that no entry of `list` is about: where its default location holds.
std::vector<AddressRange> Uncovered(const std::vector<AddressRange>& ranges,
                                    const std::vector<ListedLocation>& list);

}  // namespace linesmith
