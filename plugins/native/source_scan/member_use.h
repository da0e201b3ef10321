// SPDX-License-Identifier: GPL-2.0-or-later
// What the code around an expression does with the place that it names.
#pragma once

#include "ancestors.h"
#include "facts.h"

namespace linesmith {

// Of the visited node, which names a place. Sizes and types that are asked for count as offsets.
UseKind UseOfPlace(const Ancestors& ancestors);

}  // namespace linesmith
