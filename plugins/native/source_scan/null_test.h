// SPDX-License-Identifier: GPL-2.0-or-later
// Whether code asks if a pointer is null (or an error that is told as a pointer).
#pragma once

#include "ancestors.h"

namespace linesmith {

// What becomes of a pointer value.
struct PointerFate {
  bool tested = false;                          // right where it is computed
  bool guarded = false;                         // it is computed under a condition on something else
  const clang::VarDecl* variable = nullptr;     // it is stored in
  const clang::FunctionDecl* result = nullptr;  // it is what this function returns
};

// Of the value of the visited node, an expression.
PointerFate FateOf(const Ancestors& ancestors);

// Whether `body` tests `variable`.
bool IsTestedIn(const clang::Stmt& body, const clang::VarDecl& variable);

}  // namespace linesmith
