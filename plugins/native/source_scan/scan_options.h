// SPDX-License-Identifier: GPL-2.0-or-later
// What is asked for.
#pragma once

#include "llvm/ADT/StringSet.h"

namespace linesmith {

struct ScanOptions {
  llvm::StringSet<> records;  // tags or typedefs
  bool uses = true;
};

}  // namespace linesmith
