// SPDX-License-Identifier: GPL-2.0-or-later
// Entries of a compilation database, one JSON object a line.
#pragma once

#include <string>
#include <vector>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace linesmith {

struct CompileCommand {
  std::string directory;
  std::string file;                    // absolute, or relative to the directory
  std::vector<std::string> arguments;  // the compiler first
};

// Reads {"directory", "file", "arguments" or "command"}; other fields are passed over.
llvm::Expected<CompileCommand> ReadCommand(llvm::StringRef line);

// The path of the file itself, without "." and "..".
std::string PathOf(const CompileCommand& command);

}  // namespace linesmith
