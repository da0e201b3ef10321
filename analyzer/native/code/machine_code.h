// SPDX-License-Identifier: GPL-2.0-or-later
// Instructions of any machine as the inference of types sees them: what moves where, what touches memory,
// where control goes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "elf/elf_file.h"

namespace linesmith {

// A general register by its DWARF number (x86-64: 0 rax ... 7 rsp ... 15 r15; arm64: 0 x0 ... 30 x30, 31 sp),
// which is also how location expressions name it.
using RegisterNumber = std::uint8_t;
constexpr RegisterNumber kNoRegister = 0xff;
constexpr unsigned kMostRegisters = 32;

enum class AccessKind : std::uint8_t { kRead, kWrite, kReadWrite, kAtomic };

// Memory of its own that a segment register, or a system register, leads to. kTask: what the arm64 kernel
// keeps in SP_EL0, the task that runs.
enum class Segment : std::uint8_t { kNone, kPerCpu, kThread, kTask };

// An address: base + index * scale + displacement. `absolute` tells that the displacement alone is the
// address (relative to the instruction, already added up; or a 32-bit absolute one; or what a relocation
// says). A scale of 0 is a factor that is not known.
struct Address {
  RegisterNumber base = kNoRegister;
  RegisterNumber index = kNoRegister;
  std::uint8_t scale = 1;
  Segment segment = Segment::kNone;
  bool absolute = false;
  std::int64_t displacement = 0;
};

// `width` bytes touched at `address`; 0 where the width is not known or depends on a register (rep movs).
struct MemoryUse {
  Address address;
  std::uint32_t width = 0;
  AccessKind kind = AccessKind::kRead;
};

// What becomes of the register `target`. Widths below that of a pointer make kMove a kValue, kLoad stays.
enum class Effect : std::uint8_t {
  kNone,  // no general register is written but those of `clobbered`. Of a plain store, `source` is the whole
          // register that uses[0] stores, `other` that of uses[1]
  kMove,  // target = source
  kConstant,  // target = constant (also an absolute address, and what a relocation says)
  kAddress,   // target = the address `operand`; no memory is touched
  kLoad,      // target = what uses[0] reads; `other`, if any, = what uses[1] reads
  kAdd,       // target = source + constant
  kSum,       // target = source + other; without `other`: + what uses[0] reads
  kMask,      // target = source & constant
  kScale,     // target = source * constant, the upper half perhaps cut off
  kTruncate,  // target = the lower half of source
  kSelect,    // target = source or other; without `other`: source or target
  kExchange,  // target and source change places
  kValue,     // target = some number, no address
};

enum class Flow : std::uint8_t {
  kNext,
  kBranch,        // to `destination` or on
  kJump,          // to `destination`
  kIndirectJump,  // through uses[0], if it reads a table, or through `source`
  kCall,          // of `destination`
  kIndirectCall,  // through uses[0] or `source`
  kReturn,
  kStop,  // does not come back: ud2, int3, brk (but see ProgramImage::ComesBack)
};

// What an instruction does, in the order of the members: uses (by the registers before it), `effect`,
// `clobbered`, `advance`, `stack_change`.
struct Instruction {
  std::uint64_t address = 0;
  std::uint8_t length = 0;
  Flow flow = Flow::kNext;
  Effect effect = Effect::kNone;
  RegisterNumber target = kNoRegister;
  RegisterNumber source = kNoRegister;
  RegisterNumber other = kNoRegister;
  std::uint8_t use_count = 0;
  bool extends_sign = false;    // of kAddress: the index are a few bytes, extended by their sign
  bool decoded = true;          // false: `length` bytes that are no instruction
  std::uint8_t load_bytes = 0;  // of kLoad and kSum: how many bytes are loaded, the rest is filled
  std::uint32_t clobbered = 0;  // further general registers that get some number, by bit
  std::int64_t constant = 0;    // of kConstant, kAdd, kMask
  // Bytes that push, pop and writeback add to the stack pointer; other changes of it are effects.
  std::int32_t stack_change = 0;
  // A base register other than the stack pointer that moves on by `advance` bytes (arm64's writeback).
  RegisterNumber advanced = kNoRegister;
  std::int32_t advance = 0;
  std::uint64_t destination = 0;  // of kBranch, kJump, kCall, when `flow` has one
  Address operand;                // of kAddress
  MemoryUse uses[2];              // use_count of them; uses[0] is what kLoad loads from
};

// Which registers a call keeps, and which passes and returns what.
struct CallingConvention {
  RegisterNumber stack_pointer = kNoRegister;
  RegisterNumber result = kNoRegister;
  std::vector<RegisterNumber> arguments;
  std::uint32_t kept_by_callee = 0;  // by bit, the stack pointer included
  std::int32_t pushed_by_call = 0;   // bytes between the stack pointer at entry and the frame address (CFA)
  std::uint8_t pointer_bytes = 8;
};

// Code at an address; `relocated` holds the addresses of fields that a relocation has filled in, ascending
// (relocatable files only).
struct CodeRange {
  std::uint64_t address = 0;
  Bytes bytes;
};

class InstructionDecoder {
 public:
  virtual ~InstructionDecoder() = default;

  virtual const CallingConvention& convention() const = 0;
  // Every instruction of `code` in order. Bytes that are no instruction become one with `decoded` false each.
  virtual void Decode(const CodeRange& code, std::vector<Instruction>& instructions) = 0;
};

// Null for a machine that is neither x86-64 nor arm64 (`machine` is the ELF header's). Not shared by threads.
// `kernel` tells that GS (x86-64) or TPIDR_EL1 (arm64) lead to per-CPU data rather than FS to a thread's.
std::unique_ptr<InstructionDecoder> MakeInstructionDecoder(std::uint16_t machine, bool kernel);

}  // namespace linesmith
