// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>

namespace linesmith {

// Addresses [low, high).
struct AddressRange {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

}  // namespace linesmith
