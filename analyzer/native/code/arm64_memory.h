// SPDX-License-Identifier: GPL-2.0-or-later
// Loads and stores of A64 by their bits; the tables are those of the Arm Architecture Reference Manual,
// section "Loads and Stores". Scalable vectors, memory tags and literal loads are left out.
#pragma once

#include <cstdint>
#include <optional>

namespace linesmith {

constexpr std::uint8_t kNoArm64Register = 0xff;  // also where the encoding means the zero register

// `count` neighbours of `width` bytes each, the first one at base + index * index_scale + displacement.
struct Arm64Memory {
  std::uint32_t width = 0;
  unsigned count = 1;
  bool reads = false;
  bool writes = false;
  bool atomic = false;
  std::uint8_t base = kNoArm64Register;
  std::uint8_t index = kNoArm64Register;
  std::uint8_t index_scale = 1;
  std::int64_t displacement = 0;
  // What the base moves on by: a constant, or (vectors) a register.
  std::int32_t writeback = 0;
  bool writeback_unknown = false;
  // General registers loaded or stored, in the order of the neighbours.
  std::uint8_t first = kNoArm64Register;
  std::uint8_t second = kNoArm64Register;
  std::uint8_t status = kNoArm64Register;  // gets whether an exclusive store succeeded
};

inline std::uint32_t Arm64Bits(std::uint32_t word, unsigned low, unsigned count) {
  return word >> low & ((1u << count) - 1);
}

inline std::int64_t Arm64SignedBits(std::uint32_t word, unsigned low, unsigned count) {
  const std::int64_t value = Arm64Bits(word, low, count);
  return Arm64Bits(word, low + count - 1, 1) != 0 ? value - (std::int64_t{1} << count) : value;
}

// Nothing for words that are no load or store, and for prefetches.
std::optional<Arm64Memory> DecodeArm64Memory(std::uint32_t word);

}  // namespace linesmith
