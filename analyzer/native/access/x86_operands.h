// SPDX-License-Identifier: GPL-2.0-or-later
// Operands of x86-64 instructions in neutral terms.
#pragma once

#include <capstone/capstone.h>

#include "access/machine_code.h"

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

}  // namespace linesmith
