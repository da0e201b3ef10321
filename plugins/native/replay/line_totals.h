// SPDX-License-Identifier: GPL-2.0-or-later
// Misses of any addresses, without saying whose.
#pragma once

#include <cstdint>
#include <vector>

#include "copies.h"
#include "machine.h"

namespace linesmith::replay {

class LineTotals {
 public:
  // Throws std::invalid_argument for a line that is not 64, 128 or 256 bytes.
  LineTotals(const Machine& machine, std::uint32_t line_bytes);

  void Access(std::uint32_t cpu, std::uint64_t address, std::uint32_t width, bool stores);

  std::uint32_t line_bytes() const { return std::uint32_t{1} << line_shift_; }
  const coherence_events& events() const { return events_; }
  std::uint64_t dropped() const { return dropped_; }  // accesses that found no room for another line

 private:
  struct Slot {
    std::uint64_t key = 0;  // 1 + line number; 0: free
    Copies copies;
  };

  Slot& Find(std::uint64_t key);
  void Grow();

  Machine machine_;
  std::uint32_t line_shift_;
  std::vector<Slot> slots_;  // open addressing, a power of two
  std::uint64_t used_ = 0;
  std::uint64_t dropped_ = 0;
  coherence_events events_{};
};

// log2 of the bytes of a line. Throws std::invalid_argument where they are not 64, 128 or 256.
std::uint32_t LineShift(std::uint32_t line_bytes);

}  // namespace linesmith::replay
