// SPDX-License-Identifier: GPL-2.0-or-later
// Casts between a record and what it begins with.
#pragma once

#include "collector.h"

namespace linesmith {

void FindFirstMemberCast(const clang::CastExpr& cast, Collector& collector);

}  // namespace linesmith
