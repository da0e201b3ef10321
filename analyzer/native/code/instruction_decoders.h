// SPDX-License-Identifier: GPL-2.0-or-later
// The decoders behind MakeInstructionDecoder.
#pragma once

#include "code/machine_code.h"

namespace linesmith {

// By capstone.
std::unique_ptr<InstructionDecoder> MakeX86InstructionDecoder(bool kernel);
// By hand (Arm ARM, C4.1), since capstone 4 knows neither ARMv8.1 atomics nor the width of an access.
std::unique_ptr<InstructionDecoder> MakeArm64InstructionDecoder(bool kernel);

}  // namespace linesmith
