// SPDX-License-Identifier: GPL-2.0-or-later
// How x86-64 instructions touch the memory that their operands name, where capstone 4 is silent or wrong.
#pragma once

#include <capstone/capstone.h>

#include <cstddef>
#include <cstdint>

namespace linesmith {

constexpr std::uint8_t kReadWriteAccess = CS_AC_READ | CS_AC_WRITE;

// The processor tells how many bytes of extended state there are.
bool SavesExtendedState(unsigned id);

// Instructions that take an address but touch no data there.
bool TakesOnlyAnAddress(unsigned id);

// String instructions, whose registers move on while they run (movs, stos, ...; not movsd of SSE).
bool IsStringInstruction(const cs_insn& instruction);

// CS_AC_READ and CS_AC_WRITE of the memory operand at `position`; 0 where the instruction leaves it alone.
std::uint8_t MemoryAccessOf(const cs_insn& instruction, std::size_t position);

// Whether the access is one that other processors cannot come between.
bool IsAtomic(const cs_insn& instruction);

}  // namespace linesmith
