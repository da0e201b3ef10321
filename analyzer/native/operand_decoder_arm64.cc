// SPDX-License-Identifier: GPL-2.0-or-later
// Loads and stores of A64 by their bits; the tables are those of the Arm Architecture Reference Manual,
// section "Loads and Stores". Scalable vectors, memory tags and literal loads are left out.
#include <elf.h>

#include <algorithm>
#include <array>
#include <optional>

#include "byte_cursor.h"
#include "operand_decoder.h"

namespace linesmith {
namespace {

constexpr std::uint32_t kStackPointer = 31;
constexpr std::uint32_t kFramePointer = 29;

std::uint32_t Bits(std::uint32_t word, unsigned low, unsigned count) {
  return word >> low & ((1u << count) - 1);
}

std::int64_t SignedBits(std::uint32_t word, unsigned low, unsigned count) {
  const std::int64_t value = Bits(word, low, count);
  return Bits(word, low + count - 1, 1) != 0 ? value - (std::int64_t{1} << count) : value;
}

// What one instruction touches: `count` neighbours of one width.
struct Elements {
  MemoryAccess first;
  unsigned count = 1;
};

MemoryAccess Loads(std::uint32_t width) { return {.width = width, .reads = true}; }
MemoryAccess Stores(std::uint32_t width) { return {.width = width, .writes = true}; }
MemoryAccess LoadsOrStores(bool load, std::uint32_t width) { return load ? Loads(width) : Stores(width); }
MemoryAccess Atomic(std::uint32_t width) {
  return {.width = width, .reads = true, .writes = true, .atomic = true};
}

// LDXR, STXR, LDXP, STXP, LDAR, STLR, CAS, CASP.
std::optional<Elements> DecodeExclusive(std::uint32_t word) {
  const std::uint32_t size = Bits(word, 30, 2);
  const bool ordered = Bits(word, 23, 1) != 0;
  const bool load = Bits(word, 22, 1) != 0;
  if (Bits(word, 21, 1) == 0) {
    MemoryAccess access = LoadsOrStores(load, 1u << size);
    access.atomic = !ordered;
    return Elements{access};
  }
  if (ordered) return Elements{Atomic(1u << size)};
  const std::uint32_t width = 4u << (size & 1);
  if (size < 2) return Elements{Atomic(width), 2};
  MemoryAccess access = LoadsOrStores(load, width);
  access.atomic = true;
  return Elements{access, 2};
}

// LDP, STP, LDNP, STNP, LDPSW; for integers and vectors.
std::optional<Elements> DecodePair(std::uint32_t word) {
  const std::uint32_t kind = Bits(word, 30, 2);
  const bool vector = Bits(word, 26, 1) != 0;
  const bool load = Bits(word, 22, 1) != 0;
  if (kind == 3 || (!vector && kind == 1 && !load)) return std::nullopt;
  const std::uint32_t width = vector ? 4u << kind : kind == 2 ? 8u : 4u;
  MemoryAccess access = LoadsOrStores(load, width);
  const bool post_index = Bits(word, 23, 2) == 1;
  access.displacement = post_index ? 0 : SignedBits(word, 15, 7) * width;
  return Elements{access, 2};
}

// The width and direction of a load or store of one register; nothing for prefetches.
std::optional<MemoryAccess> SingleRegister(std::uint32_t word) {
  const std::uint32_t size = Bits(word, 30, 2);
  const std::uint32_t operation = Bits(word, 22, 2);
  if (Bits(word, 26, 1) != 0) {
    const std::uint32_t scale = (operation & 2) << 1 | size;
    if (scale > 4) return std::nullopt;
    return LoadsOrStores((operation & 1) != 0, 1u << scale);
  }
  if ((operation == 2 && size == 3) || (operation == 3 && size >= 2)) return std::nullopt;
  return LoadsOrStores(operation != 0, 1u << size);
}

// LDADD and its kin, SWP, LDAPR (ARMv8.1 and 8.3).
std::optional<Elements> DecodeAtomic(std::uint32_t word) {
  if (Bits(word, 26, 1) != 0) return std::nullopt;
  const std::uint32_t width = 1u << Bits(word, 30, 2);
  const std::uint32_t operation = Bits(word, 12, 4);
  if (operation <= 8) return Elements{Atomic(width)};
  if (operation == 12) return Elements{Loads(width)};
  return std::nullopt;
}

std::optional<Elements> DecodeSingle(std::uint32_t word) {
  const bool scaled = Bits(word, 24, 1) != 0;
  const bool by_register = !scaled && Bits(word, 21, 1) != 0;
  const std::uint32_t mode = Bits(word, 10, 2);
  if (by_register && mode == 0) return DecodeAtomic(word);
  std::optional<MemoryAccess> access = SingleRegister(word);
  if (!access || (by_register && mode != 2)) return std::nullopt;
  const bool post_index = mode == 1;
  if (scaled) {
    access->displacement = std::int64_t{Bits(word, 10, 12)} * access->width;
  } else if (!by_register && !post_index) {
    access->displacement = SignedBits(word, 12, 9);
  }
  return Elements{*access};
}

// LDAPUR, STLUR.
std::optional<Elements> DecodeOrderedUnscaled(std::uint32_t word) {
  MemoryAccess access = LoadsOrStores(Bits(word, 22, 2) != 0, 1u << Bits(word, 30, 2));
  access.displacement = SignedBits(word, 12, 9);
  return Elements{access};
}

// LD1 to LD4 and ST1 to ST4 of whole vectors; the width is that of all registers.
std::optional<Elements> DecodeVectors(std::uint32_t word) {
  static constexpr std::array<std::uint8_t, 16> kRegisters = {4, 0, 4, 0, 3, 0, 3, 1, 2, 0, 2};
  const std::uint32_t count = kRegisters[Bits(word, 12, 4)];
  if (count == 0) return std::nullopt;
  return Elements{LoadsOrStores(Bits(word, 22, 1) != 0, count * (8u << Bits(word, 30, 1)))};
}

// The same of one lane, or of one value for all lanes.
std::optional<Elements> DecodeLane(std::uint32_t word) {
  const std::uint32_t operation = Bits(word, 13, 3);
  const std::uint32_t count = ((operation & 1) << 1 | Bits(word, 21, 1)) + 1;
  std::uint32_t scale = operation >> 1;
  if (scale == 3) {
    scale = Bits(word, 10, 2);
  } else if (scale == 2 && Bits(word, 10, 1) != 0) {
    scale = 3;
  }
  return Elements{LoadsOrStores(Bits(word, 22, 1) != 0, count << scale)};
}

struct Encoding {
  std::uint32_t mask;
  std::uint32_t value;
  std::optional<Elements> (*decode)(std::uint32_t);
};

constexpr auto kEncodings = std::to_array<Encoding>({
    {0x3f000000, 0x08000000, DecodeExclusive},
    {0x3f200c00, 0x19000000, DecodeOrderedUnscaled},
    {0x3a000000, 0x28000000, DecodePair},
    {0x3a000000, 0x38000000, DecodeSingle},
    {0xbfbf0000, 0x0c000000, DecodeVectors},
    {0xbfa00000, 0x0c800000, DecodeVectors},
    {0xbf9f0000, 0x0d000000, DecodeLane},
    {0xbf800000, 0x0d800000, DecodeLane},
});

std::optional<Elements> DecodeWord(std::uint32_t word) {
  for (const Encoding& encoding : kEncodings) {
    if ((word & encoding.mask) == encoding.value) return encoding.decode(word);
  }
  return std::nullopt;
}

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
    const std::uint32_t word = cursor.U32();
    const std::uint32_t base = Bits(word, 5, 5);
    if (base == kStackPointer || (base == kFramePointer && frame_pointer)) continue;
    const std::optional<Elements> elements = DecodeWord(word);
    if (!elements || std::ranges::binary_search(code.relocations, offset)) continue;
    MemoryAccess access = elements->first;
    for (unsigned i = 0; i < elements->count; ++i, access.displacement += access.width)
      accesses.insert(access);
  }
}

}  // namespace

std::unique_ptr<OperandDecoder> MakeArm64Decoder() { return std::make_unique<Arm64Decoder>(); }

}  // namespace linesmith
