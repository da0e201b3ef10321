// SPDX-License-Identifier: GPL-2.0-or-later
#include "ancestors.h"

namespace linesmith {

const clang::FunctionDecl* Ancestors::Function() const {
  for (std::size_t steps = 0; steps < size(); ++steps) {
    if (const auto* function = At(steps).As<clang::FunctionDecl>()) return function;
  }
  return nullptr;
}

bool Ancestors::IsUnevaluated() const {
  for (std::size_t steps = 0; At(steps).statement != nullptr; ++steps) {
    if (At(steps).As<clang::UnaryExprOrTypeTraitExpr>() != nullptr) return true;
  }
  return false;
}

std::string Ancestors::FunctionName() const {
  const clang::FunctionDecl* function = Function();
  return function != nullptr ? function->getNameAsString() : "";
}

}  // namespace linesmith
