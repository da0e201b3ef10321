// SPDX-License-Identifier: GPL-2.0-or-later
// All of a unit's syntax tree, once.
#pragma once

#include "barren_bodies.h"
#include "clang/AST/ASTContext.h"
#include "facts.h"
#include "scan_options.h"

namespace linesmith {

// Functions of headers that show nothing are added to `barren`.
void WalkUnit(clang::ASTContext& context, const ScanOptions& options, BarrenBodies& barren, UnitFacts& facts);

}  // namespace linesmith
