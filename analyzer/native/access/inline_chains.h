// SPDX-License-Identifier: GPL-2.0-or-later
// Which inlined code an address of a function belongs to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "access/function_facts.h"

namespace linesmith {

// Asked by ascending addresses.
class InlineChains {
 public:
  explicit InlineChains(const std::vector<InlinedCall>& inlined);

  // Position of the innermost call that covers `address`; -1 for the function's own code.
  std::int32_t InnermostAt(std::uint64_t address);
  // Names from the outermost call to `call`, separated by newlines.
  std::string NamesOf(std::int32_t call) const;

 private:
  struct Span {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::int32_t call = -1;
  };

  const std::vector<InlinedCall>& inlined_;
  std::vector<Span> spans_;  // by ascending low, outer calls first
  std::size_t next_ = 0;
  std::vector<Span> open_;  // innermost last
};

}  // namespace linesmith
