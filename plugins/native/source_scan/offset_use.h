// SPDX-License-Identifier: GPL-2.0-or-later
// What becomes of offsets of members and of sizes of records.
#pragma once

#include "collector.h"

namespace linesmith {

void FindOffsetUse(const clang::OffsetOfExpr& offset, Collector& collector);

void FindSizeUse(const clang::UnaryExprOrTypeTraitExpr& size, Collector& collector);

}  // namespace linesmith
