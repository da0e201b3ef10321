// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>

#include "code/arm64_memory.h"
#include "code/operand_decoder.h"
#include "elf/byte_cursor.h"

namespace linesmith {
namespace {

constexpr std::uint32_t kStackPointer = 31;
constexpr std::uint32_t kFramePointer = 29;

class Arm64Decoder : public OperandDecoder {
 public:
  bool UsesFramePointer(Bytes code) override;
  void Decode(const CodePiece& code, bool frame_pointer, std::set<MemoryAccess>& accesses) override;
};

// ADD x29, sp, #n; MOV x29, sp is its alias with n = 0.
bool Arm64Decoder::UsesFramePointer(Bytes code) {
  ByteCursor cursor(code, true);
  while (cursor.left() >= 4) {
    if ((cursor.U32() & 0xff8003ff) == (0x91000000 | kStackPointer << 5 | kFramePointer)) return true;
  }
  return false;
}

// Instructions are little-endian even where data are not.
void Arm64Decoder::Decode(const CodePiece& code, bool frame_pointer, std::set<MemoryAccess>& accesses) {
  ByteCursor cursor(code.bytes, true);
  for (std::uint64_t offset = 0; cursor.left() >= 4; offset += 4) {
    const std::optional<Arm64Memory> memory = DecodeArm64Memory(cursor.U32());
    if (!memory || memory->base == kStackPointer || (memory->base == kFramePointer && frame_pointer))
      continue;
    if (std::ranges::binary_search(code.relocations, offset)) continue;
    MemoryAccess access{.displacement = memory->displacement,
                        .width = memory->width,
                        .reads = memory->reads,
                        .writes = memory->writes,
                        .atomic = memory->atomic};
    for (unsigned i = 0; i < memory->count; ++i, access.displacement += access.width) accesses.insert(access);
  }
}

}  // namespace

std::unique_ptr<OperandDecoder> MakeArm64Decoder() { return std::make_unique<Arm64Decoder>(); }

}  // namespace linesmith
