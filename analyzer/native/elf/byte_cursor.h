// SPDX-License-Identifier: GPL-2.0-or-later
// Bounds-checked reading of target-endian integers, LEB128 numbers and strings.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "elf/elf_file.h"

namespace linesmith {

// Thrown when a read would leave its bytes; caught where the unit or table can be named, never by users.
struct Truncated {};

// Kept out of the readers, which are inlined for their usual way.
[[noreturn, gnu::cold, gnu::noinline]] inline void ThrowTruncated() { throw Truncated(); }

class ByteCursor {
 public:
  ByteCursor(const std::uint8_t* start, const std::uint8_t* end, bool little_endian)
      : position_(start), end_(end), swap_(little_endian != (std::endian::native == std::endian::little)) {}
  ByteCursor(Bytes bytes, bool little_endian)
      : ByteCursor(bytes.data(), bytes.data() + bytes.size(), little_endian) {}

  const std::uint8_t* position() const { return position_; }
  const std::uint8_t* end() const { return end_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - position_); }
  bool done() const { return position_ >= end_; }

  void Skip(std::uint64_t count) {
    if (count > left()) [[unlikely]]
      ThrowTruncated();
    position_ += count;
  }

  // Goes to a place between here and the end; going backwards is refused so that no reader can loop.
  void ForwardTo(const std::uint8_t* place) {
    if (place < position_ || place > end_) ThrowTruncated();
    position_ = place;
  }

  std::uint8_t U8() {
    if (position_ == end_) [[unlikely]]
      ThrowTruncated();
    return *position_++;
  }
  std::uint16_t U16() {
    const auto value = Load<std::uint16_t>();
    return swap_ ? __builtin_bswap16(value) : value;
  }
  std::uint32_t U32() {
    const auto value = Load<std::uint32_t>();
    return swap_ ? __builtin_bswap32(value) : value;
  }
  std::uint64_t U64() {
    const auto value = Load<std::uint64_t>();
    return swap_ ? __builtin_bswap64(value) : value;
  }
  std::uint32_t U24() {
    const std::uint32_t a = U8();
    const std::uint32_t b = U8();
    const std::uint32_t c = U8();
    const bool little = !swap_ == (std::endian::native == std::endian::little);
    return little ? a | b << 8 | c << 16 : c | b << 8 | a << 16;
  }
  // An unsigned integer of 1, 2, 4 or 8 bytes; any other width is damage.
  std::uint64_t Unsigned(unsigned bytes) {
    switch (bytes) {
      case 1:
        return U8();
      case 2:
        return U16();
      case 4:
        return U32();
      case 8:
        return U64();
      default:
        ThrowTruncated();
    }
  }
  // Bits beyond 64 are dropped, the bytes are consumed.
  std::uint64_t Uleb() {
    const std::uint8_t first = U8();
    if (first < 0x80) [[likely]]
      return first;
    return LongUleb(first & 0x7f);
  }
  std::int64_t Sleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint8_t byte = U8();
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte >= 0x80) continue;
      if ((byte & 0x40) != 0 && shift + 7 < 64) value |= ~std::uint64_t{0} << (shift + 7);
      return static_cast<std::int64_t>(value);
    }
  }
  // The string here; the cursor moves behind its NUL.
  const char* String() {
    const void* nul = std::memchr(position_, 0, left());
    if (nul == nullptr) ThrowTruncated();
    const char* text = reinterpret_cast<const char*>(position_);
    position_ = static_cast<const std::uint8_t*>(nul) + 1;
    return text;
  }

 private:
  // The rest of a number whose first byte has been read.
  [[gnu::noinline]] std::uint64_t LongUleb(std::uint64_t value) {
    for (unsigned shift = 7;; shift += 7) {
      const std::uint8_t byte = U8();
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
  template <typename T>
  T Load() {
    if (left() < sizeof(T)) [[unlikely]]
      ThrowTruncated();
    T value;
    std::memcpy(&value, position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  const std::uint8_t* position_;
  const std::uint8_t* end_;
  bool swap_;
};

}  // namespace linesmith
