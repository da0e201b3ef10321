// SPDX-License-Identifier: GPL-2.0-or-later
// What x86-64 instructions do with registers and the flow of control.
#pragma once

#include <capstone/capstone.h>

#include "code/machine_code.h"

namespace linesmith {

// Fills in what `raw` does: flow, effect and registers. Address, length and uses of `instruction` are known
// already.
void DescribeX86(const cs_insn& raw, bool kernel, Instruction& instruction);

}  // namespace linesmith
