// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/blake2b.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace linesmith {
namespace {

using Words = std::array<std::uint64_t, 16>;

constexpr std::array<std::uint64_t, 8> kStart = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                                 0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                                 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

constexpr std::uint8_t kOrder[10][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                         {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                         {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                         {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                                         {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                                         {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                                         {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                                         {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                                         {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                                         {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

constexpr std::size_t kRounds = 12;

void Mix(Words& v, std::size_t a, std::size_t b, std::size_t c, std::size_t d, std::uint64_t x,
         std::uint64_t y) {
  v[a] += v[b] + x;
  v[d] = std::rotr(v[d] ^ v[a], 32);
  v[c] += v[d];
  v[b] = std::rotr(v[b] ^ v[c], 24);
  v[a] += v[b] + y;
  v[d] = std::rotr(v[d] ^ v[a], 16);
  v[c] += v[d];
  v[b] = std::rotr(v[b] ^ v[c], 63);
}

void Round(Words& v, const Words& m, const std::uint8_t (&order)[16]) {
  for (std::size_t i = 0; i < 4; ++i) Mix(v, i, i + 4, i + 8, i + 12, m[order[2 * i]], m[order[2 * i + 1]]);
  for (std::size_t i = 0; i < 4; ++i) {
    Mix(v, i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12, m[order[2 * i + 8]], m[order[2 * i + 9]]);
  }
}

}  // namespace

Blake2b::Blake2b() : state_(kStart) { state_[0] ^= 0x01010000 ^ kDigestBytes; }

void Blake2b::Add(std::string_view bytes) {
  while (!bytes.empty()) {
    if (filled_ == kBlockBytes) Compress(false);
    const std::size_t part = std::min(bytes.size(), kBlockBytes - filled_);
    std::memcpy(block_.data() + filled_, bytes.data(), part);
    filled_ += part;
    bytes.remove_prefix(part);
  }
}

std::array<char, Blake2b::kDigestBytes> Blake2b::Finish() {
  std::fill(block_.begin() + static_cast<std::ptrdiff_t>(filled_), block_.end(), 0);
  Compress(true);
  std::array<char, kDigestBytes> digest;
  for (std::size_t i = 0; i < kDigestBytes; ++i) digest[i] = static_cast<char>(state_[0] >> (8 * i));
  return digest;
}

void Blake2b::Compress(bool last) {
  total_ += filled_;
  filled_ = 0;
  Words message;
  for (std::size_t i = 0; i < message.size(); ++i) {
    message[i] = 0;
    for (std::size_t byte = 8; byte > 0; --byte) message[i] = message[i] << 8 | block_[8 * i + byte - 1];
  }
  Words v;
  std::copy(state_.begin(), state_.end(), v.begin());
  std::copy(kStart.begin(), kStart.end(), v.begin() + 8);
  v[12] ^= total_;
  if (last) v[14] = ~v[14];
  for (std::size_t round = 0; round < kRounds; ++round) Round(v, message, kOrder[round % 10]);
  for (std::size_t i = 0; i < state_.size(); ++i) state_[i] ^= v[i] ^ v[i + 8];
}

}  // namespace linesmith
