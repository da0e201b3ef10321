// SPDX-License-Identifier: GPL-2.0-or-later
// Which object an address belongs to. Sizes, offsets and addresses are in bytes.
#pragma once

#include <cstdint>
#include <vector>

namespace linesmith::replay {

// `count` objects in a row, `stride` bytes from one to the next; what lies between two belongs to the first.
// Objects of one kind are laid out alike; kinds are numbered from 0.
struct ObjectRow {
  std::uint64_t address = 0;
  std::uint64_t stride = 0;
  std::uint64_t count = 0;
  std::uint32_t kind = 0;
};

struct Object {
  std::uint64_t address = 0;
  std::uint32_t kind = 0;
  std::uint32_t rank = 0;  // among the objects of its kind, by address
};

// A byte of an object: `size` more bytes of the object begin there.
struct Spot {
  std::uint32_t object = 0;
  std::uint32_t kind = 0;
  std::uint32_t offset = 0;
  std::uint64_t size = 0;
};

// Objects by address. Memory beside them that shares a line of `line_bytes` with one is made of objects too,
// a line each, of the kind behind the last: what shares a line with an object must be followed as well.
class ObjectMap {
 public:
  static constexpr std::uint32_t kLongestLine = 256;
  static constexpr std::size_t kPageBits = std::size_t{1} << 16;

  // Throws std::invalid_argument where rows overlap, are empty, or hold more than 2^32 objects.
  explicit ObjectMap(std::vector<ObjectRow> rows, std::uint32_t line_bytes = kLongestLine);

  // Whether any of `size` bytes from `address` on can be in or beside an object; quick, and may err on the
  // safe side.
  bool MayHold(std::uint64_t address, std::uint64_t size) const { return MayHold(pages_, address, size); }

  // The same of any of several maps, whose pages were added.
  static bool MayHold(const std::vector<bool>& pages, std::uint64_t address, std::uint64_t size) {
    return pages[PageBit(address)] || pages[PageBit(address + size - 1)];
  }
  void AddPages(std::vector<bool>& pages) const;

  // Whether the address is in an object or beside one; `spot` is the place then.
  bool Find(std::uint64_t address, Spot& spot) const;

  const std::vector<Object>& objects() const { return objects_; }
  std::uint64_t bytes() const { return bytes_; }  // of all objects
  std::uint32_t kinds() const { return kinds_; }
  std::uint32_t beside() const { return kinds_; }

 private:
  struct Row {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t stride;
    std::uint32_t first;  // number of its first object
    std::uint32_t kind;
  };

  static std::size_t PageBit(std::uint64_t address) { return (address >> 12) * 0x9e3779b97f4a7c15u >> 48; }

  void Number(const std::vector<ObjectRow>& rows);
  void AddNeighbours(std::uint64_t line_bytes);
  void AddNeighbour(std::uint64_t begin, std::uint64_t end);
  void MarkPages();

  std::vector<Row> rows_;
  std::vector<Object> objects_;
  std::vector<bool> pages_;  // by PageBit: whether a page with that bit has objects
  std::uint64_t bytes_ = 0;
  std::uint32_t kinds_ = 0;
};

}  // namespace linesmith::replay
