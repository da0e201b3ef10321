// SPDX-License-Identifier: GPL-2.0-or-later
// Memory operands of machine code, one function at a time; what the base registers point to is not looked at.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "elf/elf_file.h"

namespace linesmith {

// One way of touching memory: `width` bytes at `displacement` bytes from what a register points to.
struct MemoryAccess {
  std::int64_t displacement = 0;
  std::uint32_t width = 0;
  bool reads = false;
  bool writes = false;
  bool atomic = false;

  auto operator<=>(const MemoryAccess&) const = default;
};

// One piece of a function.
struct CodePiece {
  Bytes bytes;
  std::vector<std::uint64_t> relocations;  // offsets from the start of `bytes`, ascending
};

class OperandDecoder {
 public:
  virtual ~OperandDecoder() = default;

  // Whether the code sets up the frame pointer, so that this register leads to the stack.
  virtual bool UsesFramePointer(Bytes code) = 0;
  // Adds every access but those on the stack, relative to the instruction, or in a segment of their own
  // (per-CPU data). Bytes that are no instruction are stepped over.
  virtual void Decode(const CodePiece& code, bool frame_pointer, std::set<MemoryAccess>& accesses) = 0;
};

// Null for a machine that is neither x86-64 nor arm64 (`machine` is the ELF header's).
std::unique_ptr<OperandDecoder> MakeOperandDecoder(std::uint16_t machine);

// The decoders behind it. x86-64: capstone. arm64: by hand (Arm ARM, C4.1.88 "Loads and stores"), since
// capstone 4 knows neither ARMv8.1 atomics nor the width of an access.
std::unique_ptr<OperandDecoder> MakeX86Decoder();
std::unique_ptr<OperandDecoder> MakeArm64Decoder();

}  // namespace linesmith
