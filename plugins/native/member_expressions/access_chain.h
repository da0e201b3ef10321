// SPDX-License-Identifier: GPL-2.0-or-later
// The way from an object to the place that an expression reaches.
#pragma once

#include <vector>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Expr.h"
#include "member_expression.h"

namespace linesmith {

struct AccessChain {
  MemberExpression expression;              // `use` is left to the caller
  std::vector<const clang::Expr*> outside;  // pointers and indices on the way: expressions of their own
  bool reaches_memory = false;              // false for local variables and values: nothing to report
};

// Whether `expression` is a place in memory that a chain describes: a member, an element, what a pointer
// leads to, a variable.
bool IsPlace(const clang::Expr& expression);

// Follows `place` through members, elements of member arrays and `&` back to the object.
AccessChain ChainOf(const clang::Expr& place, const clang::ASTContext& context);

// What the pointer `pointer` leads to, as ChainOf: the object behind `&x->y`, or *p.
AccessChain ChainBehind(const clang::Expr& pointer, const clang::ASTContext& context);

// `expression` without parentheses, and of a choice made when compiling what is chosen.
const clang::Expr& Chosen(const clang::Expr& expression);

}  // namespace linesmith
