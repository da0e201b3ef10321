// SPDX-License-Identifier: GPL-2.0-or-later
// What tests of both decoders say of one instruction.
#pragma once

#include <gtest/gtest.h>

#include "code/machine_code.h"

namespace linesmith {

inline void ExpectUse(const MemoryUse& use, RegisterNumber base, std::int64_t displacement,
                      std::uint32_t width, AccessKind kind) {
  EXPECT_EQ(use.address.base, base);
  EXPECT_EQ(use.address.displacement, displacement);
  EXPECT_EQ(use.width, width);
  EXPECT_EQ(use.kind, kind);
}

// The only use of an instruction.
inline void ExpectOneUse(const Instruction& instruction, RegisterNumber base, std::int64_t displacement,
                         std::uint32_t width, AccessKind kind) {
  ASSERT_EQ(instruction.use_count, 1);
  ExpectUse(instruction.uses[0], base, displacement, width, kind);
}

inline void ExpectLoad(const Instruction& instruction, RegisterNumber target, std::uint8_t bytes) {
  EXPECT_EQ(instruction.effect, Effect::kLoad);
  EXPECT_EQ(instruction.target, target);
  EXPECT_EQ(instruction.load_bytes, bytes);
}

}  // namespace linesmith
