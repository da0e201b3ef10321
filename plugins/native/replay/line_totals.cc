// SPDX-License-Identifier: GPL-2.0-or-later
#include "line_totals.h"

#include <bit>
#include <stdexcept>
#include <utility>

namespace linesmith::replay {
namespace {

constexpr std::size_t kFirstSlots = std::size_t{1} << 16;
constexpr std::size_t kMostSlots = std::size_t{1} << 25;  // 800 MiB

}  // namespace

std::uint32_t LineShift(std::uint32_t line_bytes) {
  if (line_bytes != 64 && line_bytes != 128 && line_bytes != 256) {
    throw std::invalid_argument("a line has 64, 128 or 256 bytes");
  }
  return static_cast<std::uint32_t>(std::countr_zero(line_bytes));
}

LineTotals::LineTotals(const Machine& machine, std::uint32_t line_bytes)
    : machine_(machine), line_shift_(LineShift(line_bytes)), slots_(kFirstSlots) {}

LineTotals::Slot& LineTotals::Find(std::uint64_t key) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t place = (key * 0x9e3779b97f4a7c15u >> 20) & mask;
  while (slots_[place].key != key && slots_[place].key != 0) place = (place + 1) & mask;
  return slots_[place];
}

void LineTotals::Grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.key != 0) Find(slot.key) = slot;
  }
}

void LineTotals::Access(std::uint32_t cpu, std::uint64_t address, std::uint32_t width, bool stores) {
  const std::uint64_t last = (address + width - 1) >> line_shift_;
  for (std::uint64_t line = address >> line_shift_; line <= last; ++line) {
    if (used_ * 2 >= slots_.size() && slots_.size() < kMostSlots) Grow();
    Slot& slot = Find(line + 1);
    if (slot.key == 0) {
      if (used_ * 4 >= slots_.size() * 3) {
        ++dropped_;
        continue;
      }
      slot.key = line + 1;
      ++used_;
    }
    ++Counter(events_, slot.copies, cpu, stores, machine_);
    Change(slot.copies, cpu, stores);
  }
}

}  // namespace linesmith::replay
