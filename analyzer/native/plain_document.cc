// SPDX-License-Identifier: GPL-2.0-or-later
#include "plain_document.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace linesmith {
namespace {

constexpr double kBehindLargest = 18446744073709551616.0;  // 2^64

std::uint64_t Word(const unsigned char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// Eight characters at once: a byte below a blank borrows, one above a tilde has the highest bit or gets it.
bool IsPrintable(std::uint64_t word) {
  constexpr std::uint64_t kEach = 0x0101010101010101;
  return (((word - 0x20 * kEach) | (word + kEach) | word) & 0x80 * kEach) == 0;
}

class Tokens {
 public:
  explicit Tokens(std::string_view document)
      : next_(reinterpret_cast<const unsigned char*>(document.data())), end_(next_ + document.size()) {}

  // What an array or a map holds comes next in any case, so that there is nothing to descend into.
  bool ArePlain() {
    while (next_ != end_) {
      if (!StepPlain(*next_++)) return false;
    }
    return true;
  }

 private:
  bool StepPlain(unsigned char token) {
    if (token < 0xa0) return true;  // a small number, map or array
    if (token < 0xc0) return Text(token & 0x1f);
    if (token >= 0xe0) return false;  // a number below 0
    switch (token) {
      case 0xc0:  // nothing, false and true
      case 0xc2:
      case 0xc3:
        return true;
      case 0xca: {
        float value = 0;
        const auto bits = static_cast<std::uint32_t>(Number(4));
        std::memcpy(&value, &bits, sizeof value);
        return IsPlainNumber(value);
      }
      case 0xcb: {
        double value = 0;
        const std::uint64_t bits = Number(8);
        std::memcpy(&value, &bits, sizeof value);
        return IsPlainNumber(value);
      }
      case 0xcc:  // numbers of 1, 2, 4 and 8 bytes
      case 0xcd:
      case 0xce:
      case 0xcf:
        return Skip(std::size_t{1} << (token - 0xcc));
      case 0xd9:  // texts whose length has 1, 2 and 4 bytes
      case 0xda:
      case 0xdb:
        return Text(Number(std::size_t{1} << (token - 0xd9)));
      case 0xdc:  // arrays and maps
      case 0xde:
        return Skip(2);
      case 0xdd:
      case 0xdf:
        return Skip(4);
      default:
        return false;
    }
  }

  bool IsPlainNumber(double value) const { return !cut_ && value >= 0 && value < kBehindLargest; }

  std::size_t left() const { return static_cast<std::size_t>(end_ - next_); }

  bool Skip(std::size_t bytes) {
    if (bytes > left()) return false;
    next_ += bytes;
    return true;
  }

  // A number of so many bytes, the highest first.
  std::uint64_t Number(std::size_t bytes) {
    const unsigned char* from = next_;
    cut_ = !Skip(bytes);
    std::uint64_t number = 0;
    for (std::size_t i = 0; !cut_ && i < bytes; ++i) number = number << 8 | from[i];
    return number;
  }

  bool Text(std::size_t bytes) {
    const unsigned char* text = next_;
    if (cut_ || !Skip(bytes)) return false;
    for (; bytes >= 8; bytes -= 8, text += 8) {
      if (!IsPrintable(Word(text))) return false;
    }
    for (; bytes > 0; --bytes, ++text) {
      if (*text < 0x20 || *text > 0x7e) return false;
    }
    return true;
  }

  const unsigned char* next_;
  const unsigned char* end_;
  bool cut_ = false;
};

}  // namespace

bool IsPlain(std::string_view document) { return Tokens(document).ArePlain(); }

}  // namespace linesmith
