// SPDX-License-Identifier: GPL-2.0-or-later
// At which displacements the memory operands of named functions read and write: model.Operand.
#pragma once

#include <string>
#include <vector>

#include "code/function_filter.h"
#include "code/operand_decoder.h"

namespace linesmith {

struct Operand {
  std::string function;  // the name asked for
  MemoryAccess access;

  auto operator<=>(const Operand&) const = default;
};

// Every operand once, sorted. Functions are found in the symbol table of the file or, where that was stripped
// off, of its debug file; parts and clones count for the function they were made from. Nothing for a file
// without code (a separate debug file) or for another machine. At most 1 MiB of one function and 16 MiB in
// all are decoded. Throws Error("ElfError").
std::vector<Operand> ReadOperands(const std::string& path, const FunctionFilter& filter,
                                  const std::vector<std::string>& debug_directories);

}  // namespace linesmith
