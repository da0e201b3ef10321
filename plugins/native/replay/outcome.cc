// SPDX-License-Identifier: GPL-2.0-or-later
#include "outcome.h"

#include <algorithm>
#include <bit>
#include <map>
#include <stdexcept>
#include <tuple>

#include "directory.h"
#include "relocated.h"

namespace linesmith::replay {
namespace {

constexpr std::uint64_t kFewestLines = 1 << 10;
constexpr std::uint64_t kMostLines = 1 << 24;
constexpr std::uint64_t kMostPairs = 1 << 16;

// Slots of a directory with room to spare for every line that the scene can touch; a small one is quick to
// make.
std::uint64_t LinesFor(const Scene& scene, const Plan& plan) {
  const std::uint64_t objects = scene.objects().objects().size();
  const std::uint64_t shards = plan.sharding ? objects * plan.sharding->ways : 0;
  const std::uint64_t most = scene.objects().bytes() / 64 + 2 * objects + 2 * shards;
  return std::clamp(std::bit_ceil(4 * std::min<std::uint64_t>(most, 2 * scene.events().size())), kFewestLines,
                    kMostLines);
}

// Adds up the pairs of all lines and CPUs by the places of the accesses.
class PairSum {
 public:
  explicit PairSum(const Scene& scene) : sites_(scene.sites()) {}

  void Add(const coherence_pair& pair) {
    const Site& victim = sites_[pair.victim_site];
    const Site& writer = sites_[pair.writer_site];
    Pair& sum = sums_[{victim.kind, victim.offset, writer.kind, writer.offset, pair.true_sharing != 0}];
    sum.local += pair.local;
    sum.remote += pair.remote;
  }

  std::vector<Pair> Sorted() const {
    std::vector<Pair> sorted;
    for (const auto& [key, sum] : sums_) {
      const auto& [victim_kind, victim_offset, writer_kind, writer_offset, true_sharing] = key;
      sorted.push_back(
          {victim_kind, victim_offset, writer_kind, writer_offset, true_sharing, sum.local, sum.remote});
    }
    std::stable_sort(sorted.begin(), sorted.end(), [](const Pair& one, const Pair& other) {
      return one.local + one.remote > other.local + other.remote;
    });
    return sorted;
  }

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, bool>;

  const std::vector<Site>& sites_;
  std::map<Key, Pair> sums_;
};

// First slice behind part `index` of `parts`.
std::uint64_t WindowEnd(const Machine& machine, std::uint32_t index, std::uint32_t parts) {
  return std::uint64_t{machine.slices} * (index + 1) / parts;
}

}  // namespace

std::uint64_t SharedMisses(const coherence_events& events) {
  return events.hitm_local + events.hitm_remote + events.shared_miss + events.upgrade + events.own_local +
         events.own_remote;
}

Outcome Simulate(const Scene& scene, const Machine& machine, const Plan& plan, std::uint32_t line_bytes,
                 std::uint32_t windows) {
  if (windows == 0) throw std::invalid_argument("a trace has at least one window");
  const Relocated places(scene, plan);
  const Directory sim = MakeDirectory(machine, {line_bytes, LinesFor(scene, plan), kMostPairs});
  Outcome outcome;
  std::uint64_t counted = 0;
  const auto close_window = [&] {
    const std::uint64_t misses = SharedMisses(coherence_count(sim.get()).events);
    outcome.windows.push_back(misses - counted);
    counted = misses;
  };
  for (const Event& event : scene.events()) {
    while (outcome.windows.size() + 1 < windows &&
           event.slice >= WindowEnd(machine, static_cast<std::uint32_t>(outcome.windows.size()), windows)) {
      close_window();
    }
    const coherence_kind kind = scene.sites()[event.site].access;
    places.Visit(event, [&](std::uint64_t address, std::uint32_t width) {
      coherence_access(sim.get(), event.cpu, address, width, kind, event.site);
    });
  }
  while (outcome.windows.size() < windows) close_window();
  PairSum pairs(scene);
  coherence_visit_pairs(
      sim.get(),
      [](void* context, const coherence_pair* pair) { static_cast<PairSum*>(context)->Add(*pair); }, &pairs);
  outcome.pairs = pairs.Sorted();
  const coherence_counts counts = coherence_count(sim.get());
  outcome.events = counts.events;
  outcome.dropped = counts.dropped_lines + counts.dropped_contended + counts.dropped_pairs;
  return outcome;
}

}  // namespace linesmith::replay
