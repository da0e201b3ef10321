// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/x86_length.h"

#include <algorithm>

#include "byte_cursor.h"

namespace linesmith {
namespace {

constexpr std::size_t kLongest = 15;

// The opcode maps behind the escapes; those of EVEX go on to 5 and 6 (half-precision numbers).
constexpr unsigned kTwoBytes = 1;
constexpr unsigned kThreeBytes38 = 2;
constexpr unsigned kThreeBytes3a = 3;

bool IsPrefix(std::uint8_t byte) {
  switch (byte) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0x66:
    case 0x67:
    case 0xf0:
    case 0xf2:
    case 0xf3:
      return true;
    default:
      return false;
  }
}

bool IsRex(std::uint8_t byte) { return (byte & 0xf0) == 0x40; }

// Shifts and shuffles of the second map that end in a byte.
bool HasImmediate(unsigned map, std::uint8_t opcode) {
  if (map == kThreeBytes3a) return true;
  return map == kTwoBytes &&
         ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6));
}

// Opcodes without a modrm byte are all known to capstone.
bool HasModRm(std::uint8_t opcode) {
  return opcode == 0x01 || opcode == 0x0d || (opcode >= 0x10 && opcode < 0x30) ||
         (opcode >= 0x40 && opcode < 0x77) || opcode == 0xae || opcode == 0xb9 || opcode >= 0xc2;
}

// Steps over modrm, sib and displacement; true for a memory operand.
bool SkipModRm(ByteCursor& cursor) {
  const std::uint8_t modrm = cursor.U8();
  const unsigned mode = modrm >> 6;
  if (mode == 3) return false;
  unsigned displacement = mode == 1 ? 1 : mode == 2 ? 4 : (modrm & 7) == 5 ? 4 : 0;
  if ((modrm & 7) == 4 && (cursor.U8() & 7) == 5 && mode == 0) displacement = 4;
  cursor.Skip(displacement);
  return true;
}

// The map that `escape` and what follows it lead to; 0 for none.
unsigned ReadMap(std::uint8_t escape, ByteCursor& cursor) {
  if (escape == 0x62) {
    const unsigned map = cursor.U8() & 7;
    cursor.Skip(2);
    return map;
  }
  if (escape == 0xc4) {
    const unsigned map = cursor.U8() & 0x1f;
    cursor.Skip(1);
    return map;
  }
  if (escape == 0xc5) cursor.Skip(1);
  return escape == 0xc5 || escape == 0x0f ? kTwoBytes : 0;
}

UnknownX86 Measure(ByteCursor cursor) {
  const std::uint8_t* start = cursor.position();
  std::uint8_t escape = cursor.U8();
  while (IsPrefix(escape)) escape = cursor.U8();
  if (IsRex(escape)) escape = cursor.U8();
  const bool legacy = escape == 0x0f;
  unsigned map = ReadMap(escape, cursor);
  std::uint8_t opcode = cursor.U8();
  if (legacy && (opcode == 0x38 || opcode == 0x3a)) {
    map = opcode == 0x38 ? kThreeBytes38 : kThreeBytes3a;
    opcode = cursor.U8();
  }
  if (map == 0 || map > 6 || (legacy && map == kTwoBytes && !HasModRm(opcode))) throw Truncated();
  UnknownX86 found;
  found.is_system = legacy && map == kTwoBytes && (opcode == 0x01 || opcode == 0xae);
  found.touches_memory = SkipModRm(cursor);
  if (HasImmediate(map, opcode)) cursor.Skip(1);
  found.length = static_cast<std::uint8_t>(cursor.position() - start);
  return found;
}

}  // namespace

std::optional<UnknownX86> MeasureX86(Bytes code) {
  try {
    return Measure(ByteCursor(code.first(std::min(code.size(), kLongest)), true));
  } catch (const Truncated&) {
    return std::nullopt;
  }
}

}  // namespace linesmith
