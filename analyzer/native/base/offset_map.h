// SPDX-License-Identifier: GPL-2.0-or-later
// DIE offset to the hashes of the type there: a flat table, filled once and never erased from.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace linesmith {

struct IdentityEntry {
  std::uint64_t offset = 0;   // 0: free (no DIE has offset 0, a unit header is there)
  std::uint64_t shallow = 0;  // 0: not known yet
  std::uint64_t deep = 0;     // 0: not known yet
};

class OffsetMap {
 public:
  // Room for the types of a unit of `unit_bytes`, as far as compilers' habits tell.
  explicit OffsetMap(std::uint64_t unit_bytes)
      : entries_(std::bit_ceil(std::clamp<std::uint64_t>(unit_bytes / 24, 64, 1 << 16))) {}

  // The entry of `offset`, made on first use; the reference is good until the next call.
  IdentityEntry& At(std::uint64_t offset) {
    if ((used_ + 1) * 2 > entries_.size()) Grow();
    IdentityEntry& entry = Probe(offset);
    if (entry.offset == 0) {
      entry.offset = offset;
      ++used_;
    }
    return entry;
  }

 private:
  IdentityEntry& Probe(std::uint64_t offset) {
    const std::size_t mask = entries_.size() - 1;
    std::size_t place = (offset * 0x9e3779b97f4a7c15u >> 32) & mask;
    while (entries_[place].offset != 0 && entries_[place].offset != offset) place = (place + 1) & mask;
    return entries_[place];
  }
  void Grow() {
    std::vector<IdentityEntry> old(entries_.size() * 2);
    old.swap(entries_);
    for (const IdentityEntry& entry : old) {
      if (entry.offset != 0) Probe(entry.offset) = entry;
    }
  }

  std::vector<IdentityEntry> entries_;
  std::size_t used_ = 0;
};

}  // namespace linesmith
