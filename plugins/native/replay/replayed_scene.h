// SPDX-License-Identifier: GPL-2.0-or-later
// All replays of one scene. Caches have no bound here, so no line matters to another: a line with the same
// bytes at the same places costs the same under every plan, and is simulated once.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "blame.h"
#include "machine.h"
#include "outcome.h"
#include "plan.h"
#include "relocated.h"
#include "scene.h"

namespace linesmith::replay {

class ReplayedScene {
 public:
  // Both stay where they are.
  ReplayedScene(const Scene& scene, const Machine& machine) : scene_(scene), machine_(machine) {}

  // Throws std::invalid_argument for a plan that does not fit the scene or a line that is not 64, 128 or 256
  // bytes, std::bad_alloc.
  Outcome Under(const Plan& plan, std::uint32_t line_bytes, std::uint32_t windows);

  // Only the misses between CPUs, for a plan without shards: several times as fast.
  std::uint64_t MissesUnder(const Plan& plan, std::uint32_t line_bytes);

 private:
  // A hash of what accesses touch on a line, and where on it; all zeros: nothing.
  struct Content {
    std::uint64_t words[2] = {};

    bool operator==(const Content&) const = default;
  };
  struct ContentHash {
    std::size_t operator()(const Content& content) const { return content.words[0]; }
  };
  // Numbers by content, but for that of nothing: a hash table that grows, with one look at memory for each.
  class CountTable {
   public:
    const std::uint64_t* Find(const Content& content) {
      const Entry& entry = Place(content);
      return entry.content == content ? &entry.count : nullptr;
    }
    void Add(const Content& content, std::uint64_t count);
    std::size_t size() const { return size_; }

   private:
    struct Entry {
      Content content;
      std::uint64_t count = 0;
    };

    Entry& Place(const Content& content);

    std::vector<Entry> entries_ = std::vector<Entry>(1024);  // open addressing, a power of two
    std::size_t size_ = 0;
  };
  // Misses of a place by a writer at another: the numbers of both, and whether it is true sharing.
  struct PlacePair {
    std::uint64_t key = 0;
    std::uint64_t local = 0;
    std::uint64_t remote = 0;
  };
  struct LineMisses {
    coherence_events events{};
    std::vector<std::uint64_t> windows;
    std::vector<PlacePair> pairs;
  };

  // Bytes of a chosen line.
  struct Bytes {
    std::uint32_t line = 0;
    std::uint16_t offset = 0;
    std::uint16_t width = 0;
  };

  struct Touch {
    std::uint32_t event = 0;
    Bytes bytes;
  };

  void Prepare(std::uint32_t line_bytes, std::uint32_t windows);
  std::vector<Content> ContentsOf(const Relocated& places) const;
  std::vector<Content> AddKnown(const Relocated& places, std::vector<std::uint32_t>& chosen, Outcome& outcome,
                                std::vector<PlacePair>& pairs) const;
  template <typename Access>
  void Go(const Relocated& places, const std::vector<std::uint32_t>& chosen, std::uint32_t lines, bool again,
          Access&& access) const;
  void Sort(std::vector<Touch>& touches) const;
  BlamedLines Replayed(const Relocated& places, const std::vector<std::uint32_t>& chosen,
                       std::uint32_t lines) const;
  std::vector<LineMisses> MissesOf(BlamedLines& replayed, std::uint32_t lines) const;
  std::vector<Pair> Named(const std::vector<PlacePair>& pairs) const;
  static std::vector<PlacePair> Summed(std::vector<PlacePair> pairs);
  static void Add(const LineMisses& line, Outcome& outcome, std::vector<PlacePair>& pairs);

  const Scene& scene_;
  const Machine& machine_;
  std::mutex mutex_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> places_;  // kinds and offsets that sites have, sorted
  std::vector<std::uint32_t> place_of_site_;
  std::uint32_t line_bytes_ = 0;
  std::uint32_t windows_ = 0;
  std::unordered_map<Content, LineMisses, ContentHash> known_;
  std::size_t known_words_ = 0;
  CountTable misses_;
  std::uint32_t misses_line_bytes_ = 0;
};

}  // namespace linesmith::replay
