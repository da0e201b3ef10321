// SPDX-License-Identifier: GPL-2.0-or-later
// What A64 instructions that are no loads and stores do (Arm Architecture Reference Manual, C4.1).
#pragma once

#include <cstdint>

#include "code/machine_code.h"

namespace linesmith {

constexpr RegisterNumber kArm64StackPointer = 31;

// Fills in `instruction`, whose address is known; `kernel` tells what the system registers for software hold.
void DescribeArm64(std::uint32_t word, bool kernel, Instruction& instruction);

}  // namespace linesmith
