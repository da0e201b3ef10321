// SPDX-License-Identifier: GPL-2.0-or-later
// Operands of x86-64 instructions in neutral terms.
#pragma once

#include <capstone/capstone.h>

#include <cstdint>
#include <optional>

#include "code/machine_code.h"
#include "elf/elf_file.h"

namespace linesmith {

// A general register and how many bytes of it an operand means; kNoRegister for any other register.
struct X86Register {
  RegisterNumber number = kNoRegister;
  std::uint8_t bytes = 0;
};

constexpr RegisterNumber kRax = 0;
constexpr RegisterNumber kRdx = 1;
constexpr RegisterNumber kRcx = 2;
constexpr RegisterNumber kRbx = 3;
constexpr RegisterNumber kRsi = 4;
constexpr RegisterNumber kRdi = 5;
constexpr RegisterNumber kRbp = 6;
constexpr RegisterNumber kRsp = 7;

X86Register GeneralRegister(unsigned name);

// The register that an operand is; none for memory and immediates.
X86Register RegisterOf(const cs_x86_op& operand);

// `kernel`: GS leads to per-CPU data; otherwise FS and GS lead to a thread's.
Address AddressOf(const cs_insn& instruction, const x86_op_mem& memory, bool kernel);

// Instructions of x86-64 that capstone 4 does not know (protection keys, waiting, AVX-512, ...): how long
// they are, so that what follows is read from its start.

struct UnknownX86 {
  std::uint8_t length = 0;
  bool touches_memory = false;  // has a memory operand
  bool is_system = false;       // opcode 0F 01 or 0F AE: uses rax, rcx and rdx if any general register
};

// What begins `code`, by the Intel SDM's opcode maps (volume 2, appendix A). Nothing for bytes that no known
// map explains.
std::optional<UnknownX86> MeasureX86(Bytes code);

}  // namespace linesmith
