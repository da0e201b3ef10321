// SPDX-License-Identifier: GPL-2.0-or-later
// Facts of a unit as one line of JSON.
#pragma once

#include "facts.h"
#include "llvm/Support/raw_ostream.h"

namespace linesmith {

void WriteFacts(const UnitFacts& facts, llvm::raw_ostream& output);

}  // namespace linesmith
