// SPDX-License-Identifier: GPL-2.0-or-later
// The hash function BLAKE2b (RFC 7693), without a key. What it hashes may be chosen by somebody who wants two
// layouts to look alike, so a hash that only spreads well will not do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace linesmith {

class Blake2b {
 public:
  static constexpr std::size_t kDigestBytes = 8;

  Blake2b();
  void Add(std::string_view bytes);
  // Nothing can be added behind it.
  std::array<char, kDigestBytes> Finish();

 private:
  static constexpr std::size_t kBlockBytes = 128;

  void Compress(bool last);

  std::array<std::uint64_t, 8> state_;
  std::array<unsigned char, kBlockBytes> block_{};
  std::size_t filled_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace linesmith
