// SPDX-License-Identifier: GPL-2.0-or-later
// Code that handles bytes of a record without regard to its members.
#pragma once

#include "collector.h"

namespace linesmith {

// Copies, clears, hashes of a part of a record; all of a record that goes to user space; records freed by a
// member.
void FindMemoryUse(const clang::CallExpr& call, Collector& collector);

// Reads and writes that reach beyond the member they name: `place` is *pointer or an element behind a cast
// pointer.
void FindWideAccess(const clang::Expr& pointer, clang::QualType accessed, Collector& collector);

// Differences and comparisons of addresses of two members.
void FindAddressRange(const clang::BinaryOperator& arithmetic, Collector& collector);

}  // namespace linesmith
