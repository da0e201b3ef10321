// SPDX-License-Identifier: GPL-2.0-or-later
// All of a unit's syntax tree, once.
#pragma once

#include "clang/AST/ASTContext.h"
#include "facts.h"
#include "scan_options.h"

namespace linesmith {

void WalkUnit(clang::ASTContext& context, const ScanOptions& options, UnitFacts& facts);

}  // namespace linesmith
