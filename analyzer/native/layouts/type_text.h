// SPDX-License-Identifier: GPL-2.0-or-later
// A member's type as C text, in pahole's two columns.
#pragma once

#include <string>
#include <string_view>

#include "layouts/type_chain.h"
#include "records/declarator.h"

namespace linesmith {

class TypeText {
 public:
  explicit TypeText(TypeChain& chain) : chain_(chain) {}

  // Columns of a member `name` of the type that `reference` of `from` means.
  Columns Of(UnitContext& from, const Attributes& member, std::string_view name);

 private:
  Columns Write(TypeDie die, std::string_view name, unsigned depth);
  std::string Specifier(const TypeDie& die);
  std::string Parameters(const TypeDie& function, unsigned depth);
  std::string EnumerationBody(const TypeDie& enumeration);

  TypeChain& chain_;
};

}  // namespace linesmith
