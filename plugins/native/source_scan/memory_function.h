// SPDX-License-Identifier: GPL-2.0-or-later
// Functions that are given memory by its address and its length.
#pragma once

#include <optional>
#include <vector>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Expr.h"

namespace linesmith {

struct MemoryArguments {
  std::vector<const clang::Expr*> pointers;
  const clang::Expr* length = nullptr;
  std::uint64_t unit = 1;       // bytes that the length counts in
  bool leaves_program = false;  // to or from user space
};

// The arguments of `call` if it is one of the functions known: those of C libraries, their kin of the kernel.
std::optional<MemoryArguments> MemoryArgumentsOf(const clang::CallExpr& call);

// The pointer that `call` frees, null if it does not free.
const clang::Expr* FreedArgument(const clang::CallExpr& call);

// The value of `length` if it is known when compiling, also by way of a variable that a macro declares.
std::optional<std::uint64_t> KnownLength(const clang::Expr& length, const clang::ASTContext& context);

// The expression that gives `length` its value: the initial value where it is a variable that a macro
// declares.
const clang::Expr& SourceOfLength(const clang::Expr& length);

}  // namespace linesmith
