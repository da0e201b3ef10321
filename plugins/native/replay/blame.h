// SPDX-License-Identifier: GPL-2.0-or-later
// Lines with all that tells which store is to blame for a miss.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "copies.h"
#include "machine.h"

namespace linesmith::replay {

// The part of an access that is in one line; `offset` and `width` are bytes.
struct LineAccess {
  std::uint32_t cpu = 0;
  std::uint32_t site = 0;
  std::uint32_t offset = 0;
  std::uint32_t width = 0;
  bool stores = false;
  std::uint32_t window = 0;
};

// Misses of one site by the doing of stores at another.
struct Blame {
  std::uint64_t local[2] = {};  // by whether the victim's own bytes had been stored to
  std::uint64_t remote[2] = {};
};

// What the accesses to one line cost.
struct LineCounts {
  coherence_events events{};
  std::vector<std::uint64_t> windows;  // misses between CPUs; empty where there are none
};

// A line, the site of a victim there and the site of a writer.
struct BlameKey {
  std::uint64_t line = 0;
  std::uint32_t victim = 0;
  std::uint32_t writer = 0;

  bool operator==(const BlameKey&) const = default;
};

// Blames by key: a hash table that grows.
class BlameTable {
 public:
  struct Entry {
    BlameKey key;
    bool used = false;
    Blame blame;
  };

  Blame& operator[](const BlameKey& key);
  const std::vector<Entry>& entries() const { return entries_; }  // used ones and free ones

 private:
  Entry& Find(const BlameKey& key);
  void Grow();

  std::vector<Entry> entries_ = std::vector<Entry>(1024);  // open addressing, a power of two
  std::size_t used_ = 0;
};

class BlamedLines {
 public:
  // `lines` of 2^line_shift bytes, numbered from 0, of which nobody has a copy.
  BlamedLines(const Machine& machine, std::uint32_t line_shift, std::uint64_t lines, std::uint32_t windows);

  void Access(std::uint64_t line, const LineAccess& access);

  LineCounts& counts(std::uint64_t line) { return counts_[line]; }
  const BlameTable& blames() const { return blames_; }

 private:
  // A store that took ownership; cpu 0 is none, else 1 + CPU.
  struct Origin {
    std::uint32_t site = 0;
    std::uint32_t cpu = 0;
  };
  struct Line {
    Copies copies;
    std::uint64_t written = 0;  // 64ths of the line that the owner stored to since it took ownership
    Origin writer;
  };
  // What a CPU without a copy has missed since it had one.
  struct Loss {
    std::uint64_t unseen = 0;  // 64ths that others stored to
    Origin taker;              // the store that took the copy away
  };

  void Publish(Line& line, Loss* losses) const;
  void Own(Line& line, Loss* losses, const LineAccess& access) const;
  void Count(std::uint64_t number, const LineAccess& access);
  void Record(std::uint64_t number, const Loss& loss, const LineAccess& access);
  std::uint64_t Touched(const LineAccess& access) const;

  Machine machine_;
  std::uint32_t unit_shift_;  // log2 of the bytes of a 64th
  std::uint32_t windows_;
  std::vector<Line> lines_;
  std::vector<Loss> losses_;  // by line and CPU
  std::vector<LineCounts> counts_;
  BlameTable blames_;
};

}  // namespace linesmith::replay
