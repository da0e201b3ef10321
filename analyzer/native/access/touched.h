// SPDX-License-Identifier: GPL-2.0-or-later
// Which records a function can reach: by parameters, local variables, and those of code inlined into it.
#pragma once

#include <string>
#include <vector>

#include "code/function_filter.h"
#include "dwarf/unit_pool.h"

namespace linesmith {

// One record type reached by one variable; see model.Touched.
struct Touched {
  std::string function;
  std::string record;
  std::string variable;
  std::string via;           // "parameter", "variable" or "return"
  std::string inlined_from;  // empty: the function's own variable
  bool read_only = false;
  bool by_value = false;

  auto operator<=>(const Touched&) const = default;
};

// Every fact once, sorted. `function` is the name asked for.
std::vector<Touched> ReadTouched(const DebugInfo& info, const FunctionFilter& filter, unsigned threads);

}  // namespace linesmith
