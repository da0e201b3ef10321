// SPDX-License-Identifier: GPL-2.0-or-later
// Compiler command lines as Clang's parser can take them.
#pragma once

#include <string>
#include <vector>

#include "llvm/ADT/StringRef.h"

namespace linesmith {

// The arguments of `command` that decide how the source reads: macros, include paths, the language, sizes of
// types. What only another compiler knows, and what steers code generation, warnings or outputs, is dropped.
std::vector<std::string> ParsingArguments(const std::vector<std::string>& command, llvm::StringRef file);

}  // namespace linesmith
