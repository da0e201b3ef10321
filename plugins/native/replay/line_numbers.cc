// SPDX-License-Identifier: GPL-2.0-or-later
#include "line_numbers.h"

#include <algorithm>
#include <numeric>

namespace linesmith::replay {

LineNumbers::LineNumbers(const std::vector<Span>& spans, std::uint32_t line_shift)
    : line_shift_(line_shift), distances_(spans.size()) {
  std::vector<std::size_t> order(spans.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t one, std::size_t other) { return spans[one].address < spans[other].address; });
  std::uint64_t next_line = 0;  // behind the last line that has a number
  for (const std::size_t index : order) {
    const Span& span = spans[index];
    if (span.bytes == 0) continue;
    const std::uint64_t first = span.address >> line_shift;
    const std::uint64_t behind = ((span.address + span.bytes - 1) >> line_shift) + 1;
    // Lines between two spans get no number; a line that begins a run follows the last number.
    next_line = lines_ == 0 ? first : std::max(next_line, first);
    distances_[index] = next_line - lines_;
    if (behind > next_line) {
      lines_ += behind - next_line;
      next_line = behind;
    }
  }
}

}  // namespace linesmith::replay
