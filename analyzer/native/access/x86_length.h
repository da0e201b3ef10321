// SPDX-License-Identifier: GPL-2.0-or-later
// Instructions of x86-64 that capstone 4 does not know (protection keys, waiting, AVX-512, ...): how long
// they are, so that what follows is read from its start.
#pragma once

#include <cstdint>
#include <optional>

#include "elf_file.h"

namespace linesmith {

struct UnknownX86 {
  std::uint8_t length = 0;
  bool touches_memory = false;  // has a memory operand
  bool is_system = false;       // opcode 0F 01 or 0F AE: uses rax, rcx and rdx if any general register
};

// What begins `code`, by the Intel SDM's opcode maps (volume 2, appendix A). Nothing for bytes that no known
// map explains.
std::optional<UnknownX86> MeasureX86(Bytes code);

}  // namespace linesmith
