// SPDX-License-Identifier: GPL-2.0-or-later
#include "code/machine_code.h"

#include <elf.h>

#include "code/instruction_decoders.h"

namespace linesmith {

std::unique_ptr<InstructionDecoder> MakeInstructionDecoder(std::uint16_t machine, bool kernel) {
  switch (machine) {
    case EM_X86_64:
      return MakeX86InstructionDecoder(kernel);
    case EM_AARCH64:
      return MakeArm64InstructionDecoder(kernel);
    default:
      return nullptr;
  }
}

}  // namespace linesmith
