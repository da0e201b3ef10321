// SPDX-License-Identifier: GPL-2.0-or-later
#include "code/arm64_memory.h"

#include <array>

namespace linesmith {
namespace {

constexpr std::uint32_t kZeroRegister = 31;

std::uint32_t Bits(std::uint32_t word, unsigned low, unsigned count) { return Arm64Bits(word, low, count); }

std::int64_t SignedBits(std::uint32_t word, unsigned low, unsigned count) {
  return Arm64SignedBits(word, low, count);
}

std::uint8_t Register(std::uint32_t word, unsigned low) {
  const std::uint32_t number = Bits(word, low, 5);
  return number == kZeroRegister ? kNoArm64Register : static_cast<std::uint8_t>(number);
}

Arm64Memory Loads(std::uint32_t width) { return {.width = width, .reads = true}; }
Arm64Memory Stores(std::uint32_t width) { return {.width = width, .writes = true}; }
Arm64Memory LoadsOrStores(bool load, std::uint32_t width) { return load ? Loads(width) : Stores(width); }
Arm64Memory Atomic(std::uint32_t width) {
  return {.width = width, .reads = true, .writes = true, .atomic = true};
}

// CAS and CASP: what was there before lands in the compared registers.
Arm64Memory CompareAndSwap(std::uint32_t word, std::uint32_t width, unsigned count) {
  Arm64Memory access = Atomic(width);
  access.count = count;
  access.first = Register(word, 16);
  if (count == 2 && access.first != kNoArm64Register) access.second = access.first + 1;
  return access;
}

// LDXR, STXR, LDXP, STXP, LDAR, STLR, CAS, CASP.
std::optional<Arm64Memory> DecodeExclusive(std::uint32_t word) {
  const std::uint32_t size = Bits(word, 30, 2);
  const bool ordered = Bits(word, 23, 1) != 0;
  const bool load = Bits(word, 22, 1) != 0;
  const bool pair = Bits(word, 21, 1) != 0;
  if (pair && ordered) return CompareAndSwap(word, 1u << size, 1);
  if (pair && size < 2) return CompareAndSwap(word, 4u << size, 2);
  Arm64Memory access = LoadsOrStores(load, pair ? 4u << (size & 1) : 1u << size);
  access.count = pair ? 2 : 1;
  access.atomic = pair || !ordered;
  access.first = Register(word, 0);
  if (pair) access.second = Register(word, 10);
  if (!load && !ordered) access.status = Register(word, 16);
  return access;
}

// LDP, STP, LDNP, STNP, LDPSW; for integers and vectors.
std::optional<Arm64Memory> DecodePair(std::uint32_t word) {
  const std::uint32_t kind = Bits(word, 30, 2);
  const std::uint32_t mode = Bits(word, 23, 2);
  const bool vector = Bits(word, 26, 1) != 0;
  const bool load = Bits(word, 22, 1) != 0;
  if (kind == 3 || (!vector && kind == 1 && !load)) return std::nullopt;
  const std::uint32_t width = vector ? 4u << kind : kind == 2 ? 8u : 4u;
  Arm64Memory access = LoadsOrStores(load, width);
  access.count = 2;
  const std::int64_t distance = SignedBits(word, 15, 7) * width;
  if (mode != 1) access.displacement = distance;
  if ((mode & 1) != 0) access.writeback = static_cast<std::int32_t>(distance);
  if (!vector) {
    access.first = Register(word, 0);
    access.second = Register(word, 10);
  }
  return access;
}

// The width and direction of a load or store of one register; nothing for prefetches.
std::optional<Arm64Memory> SingleRegister(std::uint32_t word) {
  const std::uint32_t size = Bits(word, 30, 2);
  const std::uint32_t operation = Bits(word, 22, 2);
  if (Bits(word, 26, 1) != 0) {
    const std::uint32_t scale = (operation & 2) << 1 | size;
    if (scale > 4) return std::nullopt;
    return LoadsOrStores((operation & 1) != 0, 1u << scale);
  }
  if ((operation == 2 && size == 3) || (operation == 3 && size >= 2)) return std::nullopt;
  Arm64Memory access = LoadsOrStores(operation != 0, 1u << size);
  access.first = Register(word, 0);
  return access;
}

// LDADD and its kin, SWP, LDAPR (ARMv8.1 and 8.3).
std::optional<Arm64Memory> DecodeAtomic(std::uint32_t word) {
  if (Bits(word, 26, 1) != 0) return std::nullopt;
  const std::uint32_t width = 1u << Bits(word, 30, 2);
  const std::uint32_t operation = Bits(word, 12, 4);
  if (operation > 8 && operation != 12) return std::nullopt;
  Arm64Memory access = operation == 12 ? Loads(width) : Atomic(width);
  access.first = Register(word, 0);
  return access;
}

std::optional<Arm64Memory> DecodeSingle(std::uint32_t word) {
  const bool scaled = Bits(word, 24, 1) != 0;
  const bool by_register = !scaled && Bits(word, 21, 1) != 0;
  const std::uint32_t mode = Bits(word, 10, 2);
  if (by_register && mode == 0) return DecodeAtomic(word);
  std::optional<Arm64Memory> access = SingleRegister(word);
  if (!access || (by_register && mode != 2)) return std::nullopt;
  if (scaled) {
    access->displacement = std::int64_t{Bits(word, 10, 12)} * access->width;
  } else if (by_register) {
    access->index = Register(word, 16);
    if (Bits(word, 12, 1) != 0) access->index_scale = static_cast<std::uint8_t>(access->width);
  } else {
    const std::int64_t distance = SignedBits(word, 12, 9);
    if (mode != 1) access->displacement = distance;
    if ((mode & 1) != 0) access->writeback = static_cast<std::int32_t>(distance);
  }
  return access;
}

// LDAPUR, STLUR.
std::optional<Arm64Memory> DecodeOrderedUnscaled(std::uint32_t word) {
  Arm64Memory access = LoadsOrStores(Bits(word, 22, 2) != 0, 1u << Bits(word, 30, 2));
  access.displacement = SignedBits(word, 12, 9);
  access.first = Register(word, 0);
  return access;
}

// Register 31 stands for the number of bytes touched.
Arm64Memory WithVectorWriteback(std::uint32_t word, Arm64Memory access) {
  if (Bits(word, 23, 1) == 0) return access;
  access.writeback_unknown = Bits(word, 16, 5) != 31;
  if (!access.writeback_unknown) access.writeback = static_cast<std::int32_t>(access.width);
  return access;
}

// LD1 to LD4 and ST1 to ST4 of whole vectors; the width is that of all registers.
std::optional<Arm64Memory> DecodeVectors(std::uint32_t word) {
  static constexpr std::array<std::uint8_t, 16> kRegisters = {4, 0, 4, 0, 3, 0, 3, 1, 2, 0, 2};
  const std::uint32_t count = kRegisters[Bits(word, 12, 4)];
  if (count == 0) return std::nullopt;
  const std::uint32_t width = count * (8u << Bits(word, 30, 1));
  return WithVectorWriteback(word, LoadsOrStores(Bits(word, 22, 1) != 0, width));
}

// The same of one lane, or of one value for all lanes.
std::optional<Arm64Memory> DecodeLane(std::uint32_t word) {
  const std::uint32_t operation = Bits(word, 13, 3);
  const std::uint32_t count = ((operation & 1) << 1 | Bits(word, 21, 1)) + 1;
  std::uint32_t scale = operation >> 1;
  if (scale == 3) {
    scale = Bits(word, 10, 2);
  } else if (scale == 2 && Bits(word, 10, 1) != 0) {
    scale = 3;
  }
  return WithVectorWriteback(word, LoadsOrStores(Bits(word, 22, 1) != 0, count << scale));
}

struct Encoding {
  std::uint32_t mask;
  std::uint32_t value;
  std::optional<Arm64Memory> (*decode)(std::uint32_t);
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

}  // namespace

std::optional<Arm64Memory> DecodeArm64Memory(std::uint32_t word) {
  for (const Encoding& encoding : kEncodings) {
    if ((word & encoding.mask) != encoding.value) continue;
    std::optional<Arm64Memory> access = encoding.decode(word);
    if (access) access->base = static_cast<std::uint8_t>(Bits(word, 5, 5));
    return access;
  }
  return std::nullopt;
}

}  // namespace linesmith
