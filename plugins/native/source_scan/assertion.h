// SPDX-License-Identifier: GPL-2.0-or-later
// Conditions on offsets and sizes that are checked when compiling.
#pragma once

#include "collector.h"

namespace linesmith {

// Tells every comparison below `condition`. What holds now is what is asserted, for the source compiles.
void FindAssertions(const clang::Stmt& condition, Collector& collector);

}  // namespace linesmith
