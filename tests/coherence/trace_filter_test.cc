// SPDX-License-Identifier: GPL-2.0-or-later
// What a trace leaves out costs nothing under any layout: the misses of the trace are those of the full
// stream, wherever the members of the objects are moved.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "simulation.h"
#include "trace_file.h"

namespace linesmith {
namespace {

constexpr std::uint32_t kCpus = 4;

struct MemberAccess {
  std::uint32_t cpu;
  std::size_t member;
  std::uint32_t offset;  // in the member
  std::uint32_t width;
  coherence_kind kind;
  std::uint32_t site;
};

using Generator = std::mt19937;

std::uint32_t Below(Generator& random, std::uint32_t bound) {
  return static_cast<std::uint32_t>(random() % bound);
}

// Members of 1 to 16 bytes.
std::vector<std::uint32_t> SomeWidths(Generator& random) {
  std::vector<std::uint32_t> widths(40);
  for (std::uint32_t& width : widths) width = 1U << Below(random, 5);
  return widths;
}

// Where each member lies when they follow each other in a random order, with holes.
std::vector<std::uint64_t> SomeLayout(Generator& random, const std::vector<std::uint32_t>& widths) {
  std::vector<std::size_t> order(widths.size());
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<std::uint64_t> places(widths.size());
  std::uint64_t place = 0x10000 + Below(random, 256);
  for (const std::size_t member : order) {
    places[member] = place;
    place += widths[member] + (Below(random, 4) == 0 ? Below(random, 40) : 0);
  }
  return places;
}

std::vector<MemberAccess> SomeAccesses(Generator& random, const std::vector<std::uint32_t>& widths) {
  std::vector<MemberAccess> accesses;
  for (int slice = 0; slice < 200; ++slice) {
    const std::uint32_t cpu = Below(random, kCpus);
    for (std::uint32_t left = Below(random, 30); left > 0; --left) {
      const std::size_t member = Below(random, static_cast<std::uint32_t>(widths.size()));
      const std::uint32_t offset = Below(random, widths[member]);
      const std::uint32_t width = 1 + Below(random, widths[member] - offset);
      accesses.push_back(
          {cpu, member, offset, width, static_cast<coherence_kind>(Below(random, 3)), Below(random, 50)});
    }
  }
  return accesses;
}

// The accesses as the trace has kept them, by their numbers.
std::vector<std::size_t> KeptAccesses(const std::vector<MemberAccess>& accesses,
                                      const std::vector<std::uint64_t>& places) {
  TraceWriter writer(kCpus);
  for (const MemberAccess& access : accesses) {
    writer.Slice(access.cpu);
    const std::uint64_t address = places[access.member] + access.offset;
    if (access.kind == COHERENCE_LOAD) writer.Load(address, access.width, access.site);
    if (access.kind == COHERENCE_STORE) writer.Store(address, access.width, access.site);
    if (access.kind == COHERENCE_ATOMIC) writer.Atomic(address, access.width, access.site);
  }
  const TraceContents contents = ReadTrace(writer.Finish());
  EXPECT_EQ(contents.status, TRACE_END);
  std::vector<std::size_t> kept;
  for (std::size_t number = 0; number < accesses.size() && kept.size() < contents.events.size(); ++number) {
    const MemberAccess& access = accesses[number];
    const trace_event& event = contents.events[kept.size()];
    if (event.cpu == access.cpu && event.address == places[access.member] + access.offset &&
        event.width == access.width && event.kind == access.kind && event.site == access.site)
      kept.push_back(number);
  }
  EXPECT_EQ(kept.size(), contents.events.size());
  return kept;
}

// Everything but hits, as one list that can be compared.
std::vector<std::uint64_t> Misses(const Simulation& sim) {
  const coherence_counts counts = sim.Counts();
  std::vector<std::uint64_t> values = {
      counts.events.hitm_local, counts.events.hitm_remote, counts.events.shared_miss,
      counts.events.cold_miss,  counts.events.upgrade,     counts.events.own_local,
      counts.events.own_remote, counts.events.invalidated, counts.invalidations,
      counts.prefetch_upgrades, counts.true_sharing,       counts.false_sharing,
      counts.contended};
  std::vector<std::vector<std::uint64_t>> pairs;
  for (const coherence_pair& pair : sim.Pairs())
    pairs.push_back({pair.line, pair.victim_offset, pair.victim_width, pair.victim_site, pair.writer_offset,
                     pair.writer_width, pair.writer_site, pair.true_sharing, pair.local, pair.remote,
                     pair.shadowed});
  std::sort(pairs.begin(), pairs.end());
  for (const auto& pair : pairs) values.insert(values.end(), pair.begin(), pair.end());
  return values;
}

std::vector<std::uint64_t> MissesOf(const std::vector<MemberAccess>& accesses,
                                    const std::vector<std::size_t>& numbers,
                                    const std::vector<std::uint64_t>& places,
                                    const coherence_config& config) {
  Simulation sim(config);
  for (const std::size_t number : numbers) {
    const MemberAccess& access = accesses[number];
    coherence_access(sim.get(), access.cpu, places[access.member] + access.offset, access.width, access.kind,
                     access.site);
  }
  return Misses(sim);
}

coherence_config SomeMachine(Generator& random) {
  coherence_config config = Simulation::SmallConfig(kCpus);
  config.line_bytes = 64U << Below(random, 3);
  config.adjacent = Below(random, 2);
  config.node_of_cpu[3] = 1;
  return config;
}

class TraceFilter : public testing::TestWithParam<unsigned> {};

TEST_P(TraceFilter, MissesStayUnderEveryLayout) {
  Generator random(GetParam());
  const std::vector<std::uint32_t> widths = SomeWidths(random);
  const std::vector<MemberAccess> accesses = SomeAccesses(random, widths);
  const std::vector<std::size_t> kept = KeptAccesses(accesses, SomeLayout(random, widths));
  std::vector<std::size_t> all(accesses.size());
  std::iota(all.begin(), all.end(), 0U);
  EXPECT_LT(kept.size(), all.size());
  for (int layout = 0; layout < 5; ++layout) {
    const std::vector<std::uint64_t> places = SomeLayout(random, widths);
    const coherence_config machine = SomeMachine(random);
    EXPECT_EQ(MissesOf(accesses, kept, places, machine), MissesOf(accesses, all, places, machine));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, TraceFilter, testing::Range(0U, 20U));

}  // namespace
}  // namespace linesmith
