// SPDX-License-Identifier: GPL-2.0-or-later
#include "outcome.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>

#include "blame.h"
#include "line_totals.h"
#include "relocated.h"

namespace linesmith::replay {
namespace {

// Adds up the blames by the places of the accesses.
std::vector<Pair> PairsOf(const BlamedLines& lines, const std::vector<Site>& sites) {
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, bool>;
  std::map<Key, Pair> sums;
  for (const auto& [key, blame] : lines.blames()) {
    const Site& victim = sites[key >> 32];
    const Site& writer = sites[key & 0xffffffff];
    for (const bool own_bytes : {false, true}) {
      if (blame.local[own_bytes] + blame.remote[own_bytes] == 0) continue;
      Pair& sum = sums[{victim.kind, victim.offset, writer.kind, writer.offset, own_bytes}];
      sum = {victim.kind,
             victim.offset,
             writer.kind,
             writer.offset,
             own_bytes,
             sum.local + blame.local[own_bytes],
             sum.remote + blame.remote[own_bytes]};
    }
  }
  std::vector<Pair> sorted;
  for (const auto& [key, sum] : sums) sorted.push_back(sum);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Pair& one, const Pair& other) {
    return one.local + one.remote > other.local + other.remote;
  });
  return sorted;
}

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
  const Relocated places(scene, plan, line_bytes);
  BlamedLines lines(machine, LineShift(line_bytes), places.lines());
  Outcome outcome;
  std::uint64_t counted = 0;
  const auto close_window = [&] {
    const std::uint64_t misses = SharedMisses(lines.events());
    outcome.windows.push_back(misses - counted);
    counted = misses;
  };
  for (const Event& event : scene.events()) {
    while (outcome.windows.size() + 1 < windows &&
           event.slice >= WindowEnd(machine, static_cast<std::uint32_t>(outcome.windows.size()), windows)) {
      close_window();
    }
    const bool stores = scene.sites()[event.site].access != COHERENCE_LOAD;
    places.Visit(event, [&](std::uint64_t line, std::uint32_t offset, std::uint32_t width) {
      lines.Access(line, {event.cpu, event.site, offset, width, stores});
    });
  }
  while (outcome.windows.size() < windows) close_window();
  outcome.pairs = PairsOf(lines, scene.sites());
  outcome.events = lines.events();
  return outcome;
}

}  // namespace linesmith::replay
