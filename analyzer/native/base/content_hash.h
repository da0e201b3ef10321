// SPDX-License-Identifier: GPL-2.0-or-later
// Hashing of type descriptions: 64 bits, mixed by folded multiplication, the same on every run.
#pragma once

#include <cstdint>
#include <cstring>

namespace linesmith {

inline std::uint64_t MixHash(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd6e8feb86659fd93u);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64) ^
         (a << 32 | a >> 32);
}

inline std::uint64_t HashText(const char* text) {
  std::size_t left = std::strlen(text);
  std::uint64_t hash = MixHash(left, 0x2545f4914f6cdd1du);
  for (; left >= 8; left -= 8, text += 8) {
    std::uint64_t word;
    std::memcpy(&word, text, 8);
    hash = MixHash(hash, word);
  }
  std::uint64_t tail = 0;
  std::memcpy(&tail, text, left);
  return MixHash(hash, tail);
}

}  // namespace linesmith
