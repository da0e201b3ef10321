// SPDX-License-Identifier: GPL-2.0-or-later
// The way from a node of the syntax tree up to its declaration.
#pragma once

#include <vector>

#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"

namespace linesmith {

// A statement or a declaration.
struct Ancestor {
  const clang::Stmt* statement = nullptr;
  const clang::Decl* declaration = nullptr;

  template <typename Node>
  const Node* As() const {
    if constexpr (std::is_base_of_v<clang::Stmt, Node>)
      return llvm::dyn_cast_or_null<Node>(statement);
    else
      return llvm::dyn_cast_or_null<Node>(declaration);
  }
};

// The nodes around the one that is visited, outermost first; that one is the last.
class Ancestors {
 public:
  void Enter(const clang::Stmt& statement) { way_.push_back({&statement, nullptr}); }
  void Enter(const clang::Decl& declaration) { way_.push_back({nullptr, &declaration}); }
  void Leave() { way_.pop_back(); }

  std::size_t size() const { return way_.size(); }
  // The node `steps` above the visited one, which is at 0; empty beyond the outermost.
  Ancestor At(std::size_t steps) const {
    return steps < way_.size() ? way_[way_.size() - 1 - steps] : Ancestor();
  }

  // The function around the visited node, null outside of all.
  const clang::FunctionDecl* Function() const;
  std::string FunctionName() const;
  // Whether only the size of the visited expression is asked for.
  bool IsUnevaluated() const;

 private:
  std::vector<Ancestor> way_;
};

}  // namespace linesmith
