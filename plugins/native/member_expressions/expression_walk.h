// SPDX-License-Identifier: GPL-2.0-or-later
// Every place that the functions of a translation unit reach.
#pragma once

#include <functional>

#include "clang/AST/ASTContext.h"
#include "member_expression.h"

namespace linesmith {

using ExpressionSink = std::function<void(const SourceLine&, const MemberExpression&)>;

// Hands every expression of every function body (of headers too) to `sink`, once for each line it counts on.
void WalkFunctions(clang::ASTContext& context, const ExpressionSink& sink);

}  // namespace linesmith
