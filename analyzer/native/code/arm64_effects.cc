// SPDX-License-Identifier: GPL-2.0-or-later
#include "code/arm64_effects.h"

#include <array>
#include <bit>
#include <optional>

#include "code/arm64_memory.h"

namespace linesmith {
namespace {

constexpr std::uint32_t kThirtyOne = 31;  // the zero register, or the stack pointer, as the encoding says
constexpr std::uint64_t kPage = 0x1000;

constexpr auto Bits = Arm64Bits;
constexpr auto SignedBits = Arm64SignedBits;

RegisterNumber Register(std::uint32_t word, unsigned low) {
  const std::uint32_t number = Bits(word, low, 5);
  return number == kThirtyOne ? kNoRegister : static_cast<RegisterNumber>(number);
}

RegisterNumber RegisterOrStack(std::uint32_t word, unsigned low) {
  return static_cast<RegisterNumber>(Bits(word, low, 5));
}

bool Is64(std::uint32_t word) { return Bits(word, 31, 1) != 0; }

std::int64_t Signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

void Set(Effect effect, RegisterNumber target, Instruction& instruction) {
  if (target == kNoRegister) return;
  instruction.effect = effect;
  instruction.target = target;
}

void Value(RegisterNumber target, Instruction& instruction) { Set(Effect::kValue, target, instruction); }

void Constant(RegisterNumber target, std::uint64_t value, Instruction& instruction) {
  Set(Effect::kConstant, target, instruction);
  instruction.constant = Signed(value);
}

void Move(RegisterNumber target, RegisterNumber source, Instruction& instruction) {
  if (source == kNoRegister) return Constant(target, 0, instruction);
  Set(Effect::kMove, target, instruction);
  instruction.source = source;
}

void Add(RegisterNumber target, RegisterNumber source, std::int64_t constant, Instruction& instruction) {
  if (constant == 0) return Move(target, source, instruction);
  Set(Effect::kAdd, target, instruction);
  instruction.source = source;
  instruction.constant = constant;
}

// base + index * scale; scale 0 is a factor that is not known.
void AddScaled(RegisterNumber target, RegisterNumber base, RegisterNumber index, std::uint8_t scale,
               Instruction& instruction) {
  if (index == kNoRegister) return Move(target, base, instruction);
  if (base == kNoRegister) return Value(target, instruction);
  if (scale == 1) {
    Set(Effect::kSum, target, instruction);
    instruction.source = base;
    instruction.other = index;
    return;
  }
  Set(Effect::kAddress, target, instruction);
  instruction.operand = {.base = base, .index = index, .scale = scale};
}

// ADR, ADRP.
void PcRelative(std::uint32_t word, bool, Instruction& instruction) {
  const std::int64_t distance = SignedBits(word, 5, 19) * 4 + Bits(word, 29, 2);
  const bool page = Is64(word);
  const std::uint64_t from = page ? instruction.address / kPage * kPage : instruction.address;
  const std::uint64_t moved = static_cast<std::uint64_t>(distance) * (page ? kPage : 1);
  Constant(Register(word, 0), from + moved, instruction);
}

// ADD, SUB (immediate); ADDS and SUBS to the zero register compare.
void AddImmediate(std::uint32_t word, bool, Instruction& instruction) {
  const bool flags = Bits(word, 29, 1) != 0;
  const RegisterNumber target = flags ? Register(word, 0) : RegisterOrStack(word, 0);
  if (!Is64(word)) return Value(target, instruction);
  const std::int64_t amount = std::int64_t{Bits(word, 10, 12)} << (Bits(word, 22, 1) * 12);
  const bool subtracts = Bits(word, 30, 1) != 0;
  if (target != kNoRegister) Add(target, RegisterOrStack(word, 5), subtracts ? -amount : amount, instruction);
}

// "DecodeBitMasks" of the manual; nothing for patterns that are not allowed.
std::optional<std::uint64_t> BitMask(std::uint32_t word) {
  const std::uint32_t pattern = Bits(word, 22, 1) << 6 | (~Bits(word, 10, 6) & 0x3f);
  if (pattern == 0) return std::nullopt;
  const unsigned bits = 1u << (std::bit_width(pattern) - 1);
  const unsigned ones = (Bits(word, 10, 6) & (bits - 1)) + 1;
  const unsigned rotated = Bits(word, 16, 6) & (bits - 1);
  if (bits == 1 || ones == bits || (bits == 64 && !Is64(word))) return std::nullopt;
  const std::uint64_t all = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  std::uint64_t element = (std::uint64_t{1} << ones) - 1;
  if (rotated != 0) element = (element >> rotated | element << (bits - rotated)) & all;
  std::uint64_t mask = 0;
  for (unsigned at = 0; at < 64; at += bits) mask |= element << at;
  return Is64(word) ? mask : mask & 0xffffffff;
}

// AND, ORR, EOR, ANDS (immediate).
void LogicalImmediate(std::uint32_t word, bool, Instruction& instruction) {
  const std::uint32_t operation = Bits(word, 29, 2);
  const RegisterNumber target = operation == 3 ? Register(word, 0) : RegisterOrStack(word, 0);
  const std::optional<std::uint64_t> mask = BitMask(word);
  const RegisterNumber source = Register(word, 5);
  if (mask && operation == 1 && source == kNoRegister) return Constant(target, *mask, instruction);
  const bool clears = operation == 0 || operation == 3;
  if (!mask || !clears || !Is64(word) || source == kNoRegister) return Value(target, instruction);
  Set(Effect::kMask, target, instruction);
  instruction.source = source;
  instruction.constant = Signed(*mask);
}

// MOVN, MOVZ, MOVK.
void MoveWide(std::uint32_t word, bool, Instruction& instruction) {
  const std::uint32_t operation = Bits(word, 29, 2);
  const std::uint64_t value = std::uint64_t{Bits(word, 5, 16)} << (Bits(word, 21, 2) * 16);
  if (operation != 0 && operation != 2) return Value(Register(word, 0), instruction);
  const std::uint64_t whole = operation == 0 ? ~value : value;
  Constant(Register(word, 0), Is64(word) ? whole : whole & 0xffffffff, instruction);
}

// AND, ORR, EOR and their kin (shifted register); ORR with the zero register is MOV.
void LogicalRegister(std::uint32_t word, bool, Instruction& instruction) {
  const RegisterNumber target = Register(word, 0);
  const bool plain = Bits(word, 22, 2) == 0 && Bits(word, 10, 6) == 0 && Bits(word, 21, 1) == 0;
  const bool moves = plain && Bits(word, 29, 2) == 1 && Register(word, 5) == kNoRegister;
  const RegisterNumber source = Register(word, 16);
  if (moves && (Is64(word) || source == kNoRegister)) return Move(target, source, instruction);
  Value(target, instruction);
}

void AddShifted(std::uint32_t word, bool, Instruction& instruction) {
  const RegisterNumber target = Register(word, 0);
  const std::uint32_t shift = Bits(word, 10, 6);
  const bool adds = Bits(word, 30, 1) == 0 && Bits(word, 22, 2) == 0 && Is64(word);
  if (!adds || target == kNoRegister) return Value(target, instruction);
  AddScaled(target, Register(word, 5), Register(word, 16),
            shift < 8 ? static_cast<std::uint8_t>(1u << shift) : std::uint8_t{0}, instruction);
}

void AddExtended(std::uint32_t word, bool, Instruction& instruction) {
  const bool flags = Bits(word, 29, 1) != 0;
  const RegisterNumber target = flags ? Register(word, 0) : RegisterOrStack(word, 0);
  const bool adds = Bits(word, 30, 1) == 0 && Is64(word);
  if (!adds || target == kNoRegister) return Value(target, instruction);
  AddScaled(target, RegisterOrStack(word, 5), Register(word, 16),
            static_cast<std::uint8_t>(1u << Bits(word, 10, 3)), instruction);
  instruction.extends_sign = Bits(word, 15, 1) != 0;
}

// CSEL; CSINC, CSINV and CSNEG make numbers.
void Select(std::uint32_t word, bool, Instruction& instruction) {
  const RegisterNumber target = Register(word, 0);
  const RegisterNumber first = Register(word, 5);
  const RegisterNumber second = Register(word, 16);
  const bool plain = Bits(word, 30, 1) == 0 && Bits(word, 10, 2) == 0;
  if (!plain || !Is64(word) || target == kNoRegister) return Value(target, instruction);
  // Nobody follows a null pointer.
  if (first == kNoRegister || second == kNoRegister) {
    return Move(target, first == kNoRegister ? second : first, instruction);
  }
  Set(Effect::kSelect, target, instruction);
  instruction.source = first == target ? second : first;
  if (first != target && second != target) instruction.other = second;
}

// MADD, SMADDL, UMADDL: base + index * size for records whose size is no power of two.
void MultiplyAdd(std::uint32_t word, bool, Instruction& instruction) {
  const std::uint32_t operation = Bits(word, 21, 3);
  const bool adds = Bits(word, 15, 1) == 0 && (operation == 0 || operation == 1 || operation == 5);
  const RegisterNumber base = Register(word, 10);
  if (!adds || !Is64(word) || base == kNoRegister) return Value(Register(word, 0), instruction);
  AddScaled(Register(word, 0), base, Register(word, 5), 0, instruction);
}

// Authentication codes of pointers come and go, the rest makes numbers.
void OneSource(std::uint32_t word, bool, Instruction& instruction) {
  if ((word & 0xffff8000) == 0xdac10000) return;
  Value(Register(word, 0), instruction);
}

void AnyValue(std::uint32_t word, bool, Instruction& instruction) { Value(Register(word, 0), instruction); }

void Nothing(std::uint32_t, bool, Instruction&) {}

// Conversions between numbers and vectors: SCVTF, UCVTF and FMOV to a vector write no general register.
void Convert(std::uint32_t word, bool, Instruction& instruction) {
  const std::uint32_t operation = Bits(word, 16, 3);
  if (operation != 2 && operation != 3 && operation != 7) Value(Register(word, 0), instruction);
}

void Goto(Flow flow, std::int64_t distance, Instruction& instruction) {
  instruction.flow = flow;
  instruction.destination = instruction.address + static_cast<std::uint64_t>(distance);
}

void BranchImmediate(std::uint32_t word, bool, Instruction& instruction) {
  Goto(Is64(word) ? Flow::kCall : Flow::kJump, SignedBits(word, 0, 26) * 4, instruction);
}

void BranchConditional(std::uint32_t word, bool, Instruction& instruction) {
  Goto(Flow::kBranch, SignedBits(word, 5, 19) * 4, instruction);
}

void TestAndBranch(std::uint32_t word, bool, Instruction& instruction) {
  Goto(Flow::kBranch, SignedBits(word, 5, 14) * 4, instruction);
}

// BR, BLR, RET, ERET and those that check authentication codes.
void BranchRegister(std::uint32_t word, bool, Instruction& instruction) {
  switch (Bits(word, 21, 2)) {
    case 0:
      instruction.flow = Flow::kIndirectJump;
      break;
    case 1:
      instruction.flow = Flow::kIndirectCall;
      break;
    default:
      instruction.flow = Flow::kReturn;
      return;
  }
  if (Bits(word, 23, 1) == 0) instruction.source = Register(word, 5);
}

// SVC, HVC, SMC come back with numbers (SMC calling convention: x0 to x3), BRK and HLT do not.
void Exception(std::uint32_t word, bool, Instruction& instruction) {
  if (Bits(word, 21, 3) != 0) {
    instruction.flow = Flow::kStop;
  } else {
    instruction.clobbered |= Bits(word, 0, 2) == 1 ? 0x1 : 0xf;
  }
}

// op0, op1, CRn, CRm and op2 as in the instruction.
constexpr std::uint32_t SystemRegister(std::uint32_t op0, std::uint32_t op1, std::uint32_t crn,
                                       std::uint32_t crm, std::uint32_t op2) {
  return op0 << 14 | op1 << 11 | crn << 7 | crm << 3 | op2;
}

constexpr std::uint32_t kSpEl0 = SystemRegister(3, 0, 4, 1, 0);
constexpr std::uint32_t kTpidrEl0 = SystemRegister(3, 3, 13, 0, 2);
constexpr std::uint32_t kTpidrEl1 = SystemRegister(3, 0, 13, 0, 4);
constexpr std::uint32_t kTpidrEl2 = SystemRegister(3, 4, 13, 0, 2);

Segment SegmentIn(std::uint32_t system_register, bool kernel) {
  if (!kernel) return system_register == kTpidrEl0 ? Segment::kThread : Segment::kNone;
  if (system_register == kTpidrEl1 || system_register == kTpidrEl2) return Segment::kPerCpu;
  return system_register == kSpEl0 ? Segment::kTask : Segment::kNone;
}

void ReadSystemRegister(std::uint32_t word, bool kernel, Instruction& instruction) {
  const Segment segment = SegmentIn(Bits(word, 5, 16), kernel);
  if (segment == Segment::kNone) return Value(Register(word, 0), instruction);
  Set(Effect::kAddress, Register(word, 0), instruction);
  instruction.operand = {.segment = segment, .absolute = true};
}

// DC ZVA zeroes a block whose size another register tells.
void ZeroBlock(std::uint32_t word, bool, Instruction& instruction) {
  if (Register(word, 0) == kNoRegister) return;
  instruction.uses[instruction.use_count++] = {.address = {.base = Register(word, 0)},
                                               .kind = AccessKind::kWrite};
}

struct Encoding {
  std::uint32_t mask;
  std::uint32_t value;
  void (*describe)(std::uint32_t word, bool kernel, Instruction& instruction);
};

// The first one that fits counts.
constexpr auto kEncodings = std::to_array<Encoding>({
    // Immediates.
    {0x1f000000, 0x10000000, PcRelative},
    {0x1f800000, 0x11000000, AddImmediate},
    {0x1f800000, 0x11800000, AnyValue},  // memory tags
    {0x1f800000, 0x12000000, LogicalImmediate},
    {0x1f800000, 0x12800000, MoveWide},
    {0x1f000000, 0x13000000, AnyValue},  // bit-fields, extract
    // Branches and system.
    {0x7c000000, 0x14000000, BranchImmediate},
    {0xff000000, 0x54000000, BranchConditional},
    {0x7e000000, 0x34000000, BranchConditional},
    {0x7e000000, 0x36000000, TestAndBranch},
    {0xfe000000, 0xd6000000, BranchRegister},
    {0xff000000, 0xd4000000, Exception},
    {0xfff00000, 0xd5300000, ReadSystemRegister},
    {0xfff80000, 0xd5280000, AnyValue},  // SYSL
    {0xffffffe0, 0xd50b7420, ZeroBlock},
    {0xff000000, 0xd5000000, Nothing},
    // Registers.
    {0x1f000000, 0x0a000000, LogicalRegister},
    {0x1f200000, 0x0b000000, AddShifted},
    {0x1f200000, 0x0b200000, AddExtended},
    {0x1fe00000, 0x1a800000, Select},
    {0x1fe00000, 0x1a400000, Nothing},  // conditional compare
    {0x5fe00000, 0x5ac00000, OneSource},
    {0x1f000000, 0x1a000000, AnyValue},
    {0x1f000000, 0x1b000000, MultiplyAdd},
    // Vectors: into a general register, or not.
    {0x7f20fc00, 0x1e200000, Convert},
    {0xbfe0fc00, 0x0e003c00, AnyValue},
    {0xbfe0fc00, 0x0e002c00, AnyValue},
    {0x0e000000, 0x0e000000, Nothing},
});

bool IsLoadOrStore(std::uint32_t word) { return (word & 0x0a000000) == 0x08000000; }

}  // namespace

void DescribeArm64(std::uint32_t word, bool kernel, Instruction& instruction) {
  for (const Encoding& encoding : kEncodings) {
    if ((word & encoding.mask) == encoding.value) return encoding.describe(word, kernel, instruction);
  }
  instruction.decoded = IsLoadOrStore(word);
}

}  // namespace linesmith
