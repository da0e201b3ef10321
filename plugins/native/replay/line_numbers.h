// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers lines that pieces of memory cover, so that what is known of a line stands in a table.
#pragma once

#include <cstdint>
#include <vector>

namespace linesmith::replay {

struct Span {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

// Lines of 2^line_shift bytes that the spans cover, numbered from 0; spans that share a line share its
// number.
class LineNumbers {
 public:
  LineNumbers(const std::vector<Span>& spans, std::uint32_t line_shift);

  std::uint64_t lines() const { return lines_; }
  // The number of the line at `address`, which is in span `span`.
  std::uint64_t Of(std::size_t span, std::uint64_t address) const {
    return (address >> line_shift_) - distances_[span];
  }

 private:
  std::uint32_t line_shift_;
  std::uint64_t lines_ = 0;
  std::vector<std::uint64_t> distances_;  // by span: line less its number
};

}  // namespace linesmith::replay
