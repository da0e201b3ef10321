// SPDX-License-Identifier: GPL-2.0-or-later
// DIE offset to the hashes of the type there: a flat table, filled once and never erased from.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace linesmith {

struct IdentityEntry {
  std::uint64_t offset = 0;      // 0: free (no DIE has offset 0, a unit header is there)
  std::uint64_t hashes[2] = {};  // of the type without and with the layouts in it; 0: not known yet
};

class OffsetMap {
 public:
  // Room for the types of a unit of `unit_bytes`, as far as compilers' habits tell.
  explicit OffsetMap(std::uint64_t unit_bytes)
      : entries_(std::bit_ceil(std::clamp<std::uint64_t>(unit_bytes / 24, 64, 1 << 16))),
        mask_(entries_.size() - 1) {}

  // The place of the entry of `offset`, made on first use; entries move when others are made.
  std::size_t PlaceOf(std::uint64_t offset) {
    const std::size_t place = Probe(offset);
    if (entries_[place].offset == offset) [[likely]]
      return place;
    return Make(offset, place);
  }
  // The entry of `offset`, which was at `place`.
  IdentityEntry& At(std::uint64_t offset, std::size_t place) {
    return entries_[entries_[place].offset == offset ? place : Probe(offset)];
  }

 private:
  std::size_t Probe(std::uint64_t offset) const {
    std::size_t place = (offset * 0x9e3779b97f4a7c15u >> 32) & mask_;
    while (entries_[place].offset != 0 && entries_[place].offset != offset) place = (place + 1) & mask_;
    return place;
  }
  [[gnu::noinline]] std::size_t Make(std::uint64_t offset, std::size_t place) {
    if ((++used_) * 2 > entries_.size()) {
      Grow();
      place = Probe(offset);
    }
    entries_[place].offset = offset;
    return place;
  }
  void Grow() {
    std::vector<IdentityEntry> old(entries_.size() * 2);
    old.swap(entries_);
    mask_ = entries_.size() - 1;
    for (const IdentityEntry& entry : old) {
      if (entry.offset != 0) entries_[Probe(entry.offset)] = entry;
    }
  }

  std::vector<IdentityEntry> entries_;
  std::size_t mask_;
  std::size_t used_ = 0;
};

}  // namespace linesmith
