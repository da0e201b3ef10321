// SPDX-License-Identifier: GPL-2.0-or-later
#include "objects.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "line_totals.h"

namespace linesmith::replay {
namespace {

constexpr std::uint64_t kMostObjects = std::numeric_limits<std::uint32_t>::max();

// Bytes from the first to behind the last object; throws where that is none or too many.
std::uint64_t Extent(const ObjectRow& row) {
  if (row.stride == 0 || row.count == 0 || row.stride > kMostObjects || row.count > kMostObjects) {
    throw std::invalid_argument("a row of objects is empty or too long");
  }
  const std::uint64_t extent = row.stride * row.count;
  if (row.address > std::numeric_limits<std::uint64_t>::max() - extent) {
    throw std::invalid_argument("a row of objects runs over the end of memory");
  }
  return extent;
}

}  // namespace

ObjectMap::ObjectMap(std::vector<ObjectRow> rows, std::uint32_t line_bytes) {
  LineShift(line_bytes);  // throws for what is no size of a line
  std::sort(rows.begin(), rows.end(),
            [](const auto& one, const auto& other) { return one.address < other.address; });
  Number(rows);
  AddNeighbours(line_bytes);
  MarkPages();
}

void ObjectMap::Number(const std::vector<ObjectRow>& rows) {
  std::vector<std::uint32_t> ranks;
  for (const ObjectRow& row : rows) {
    const std::uint64_t end = row.address + Extent(row);
    if (!rows_.empty() && row.address < rows_.back().end)
      throw std::invalid_argument("rows of objects overlap");
    if (objects_.size() + row.count > kMostObjects) throw std::invalid_argument("there are too many objects");
    bytes_ += end - row.address;
    kinds_ = std::max(kinds_, row.kind + 1);
    ranks.resize(kinds_);
    rows_.push_back({row.address, end, row.stride, static_cast<std::uint32_t>(objects_.size()), row.kind});
    for (std::uint64_t index = 0; index < row.count; ++index) {
      objects_.push_back({row.address + index * row.stride, row.kind, ranks[row.kind]++});
    }
  }
}

void ObjectMap::AddNeighbours(std::uint64_t line_bytes) {
  const std::vector<Row> rows = rows_;
  std::uint64_t covered = 0;  // everything below belongs to a row
  for (std::size_t index = 0; index < rows.size(); ++index) {
    const std::uint64_t next = index + 1 < rows.size() ? rows[index + 1].begin : ~std::uint64_t{0};
    AddNeighbour(std::max(covered, rows[index].begin / line_bytes * line_bytes), rows[index].begin);
    covered = std::min(next, (rows[index].end + line_bytes - 1) / line_bytes * line_bytes);
    AddNeighbour(rows[index].end, covered);
  }
  std::sort(rows_.begin(), rows_.end(),
            [](const Row& one, const Row& other) { return one.begin < other.begin; });
}

void ObjectMap::AddNeighbour(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
  rows_.push_back({begin, end, end - begin, static_cast<std::uint32_t>(objects_.size()), beside()});
  objects_.push_back({begin, beside(), 0});
}

void ObjectMap::MarkPages() {
  constexpr std::uint64_t kPage = 4096;
  pages_.resize(kPageBits);
  for (const Row& row : rows_) {
    const std::uint64_t pages =
        std::min<std::uint64_t>((row.end - 1) / kPage - row.begin / kPage + 1, kPageBits);
    for (std::uint64_t page = 0; page < pages; ++page) pages_[PageBit(row.begin + page * kPage)] = true;
    pages_[PageBit(row.end - 1)] = true;
    // A row longer than the bits can tell apart is everywhere.
    if (pages == kPageBits) pages_.assign(kPageBits, true);
  }
}

void ObjectMap::AddPages(std::vector<bool>& pages) const {
  for (std::size_t bit = 0; bit < kPageBits; ++bit) pages[bit] = pages[bit] || pages_[bit];
}

bool ObjectMap::Find(std::uint64_t address, Spot& spot) const {
  const auto behind =
      std::upper_bound(rows_.begin(), rows_.end(), address,
                       [](std::uint64_t wanted, const Row& row) { return wanted < row.begin; });
  if (behind == rows_.begin() || address >= std::prev(behind)->end) return false;
  const Row& row = *std::prev(behind);
  const std::uint64_t distance = address - row.begin;
  const std::uint64_t index = distance / row.stride;
  spot.object = row.first + static_cast<std::uint32_t>(index);
  spot.kind = row.kind;
  spot.offset = static_cast<std::uint32_t>(distance - index * row.stride);
  spot.size = row.stride - spot.offset;
  return true;
}

}  // namespace linesmith::replay
