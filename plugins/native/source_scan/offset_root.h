// SPDX-License-Identifier: GPL-2.0-or-later
// The arithmetic that an offset or a size is part of.
#pragma once

#include "ancestors.h"

namespace linesmith {

// What the arithmetic is for.
enum class OffsetPurpose : std::uint8_t {
  kValue,     // stored, returned, compared when the program runs
  kArgument,  // handed to a function
  kPointer,   // added to or subtracted from a pointer
  kAssertion,
  kAssembly,
  kCase,
};

struct OffsetRoot {
  OffsetPurpose purpose = OffsetPurpose::kValue;
  const clang::Stmt* root = nullptr;  // all of the arithmetic; the case label for kCase
  std::size_t steps = 0;              // from the visited node up to `root`
};

OffsetRoot RootOf(const Ancestors& ancestors);

}  // namespace linesmith
