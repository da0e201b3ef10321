// SPDX-License-Identifier: GPL-2.0-or-later
// Random accesses cost the same, and are blamed on the same stores, as in the plain model of reference.h.
#include "reference.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "simulation.h"

namespace linesmith {
namespace {

coherence_config RandomMachine(std::mt19937& random) {
  coherence_config config = Simulation::SmallConfig(2 + random() % 7);
  config.line_bytes = 64U << random() % 3;
  config.adjacent = random() % 2;
  for (std::uint32_t cpu = 0; cpu < config.cpus; ++cpu) config.node_of_cpu[cpu] = random() % 2;
  if (random() % 2 == 0) return config;
  config.cache_ways = 1 + random() % 4;
  config.cache_bytes = std::uint64_t{config.cache_ways} * config.line_bytes << random() % 3;
  return config;
}

std::map<Reference::Pair, std::uint64_t> PairsOf(const Simulation& sim) {
  std::map<Reference::Pair, std::uint64_t> pairs;
  for (const coherence_pair& pair : sim.Pairs()) {
    for (const bool remote : {false, true}) {
      const std::uint64_t count = remote ? pair.remote : pair.local;
      if (count == 0) continue;
      pairs[{pair.line, pair.victim_offset, pair.victim_width, pair.victim_site,
             static_cast<std::uint64_t>(pair.victim_kind), pair.victim_cpu, pair.writer_offset,
             pair.writer_width, pair.writer_site, pair.writer_cpu, pair.true_sharing, remote}] += count;
    }
  }
  return pairs;
}

std::string SpellCounts(const coherence_counts& counts) {
  const coherence_events& events = counts.events;
  std::string text;
  for (const std::uint64_t value :
       {events.hits, events.hitm_local, events.hitm_remote, events.shared_miss, events.cold_miss,
        events.upgrade, events.own_local, events.own_remote, events.invalidated, counts.invalidations,
        counts.evictions, counts.prefetches, counts.prefetch_upgrades, counts.true_sharing,
        counts.false_sharing})
    text += std::to_string(value) + " ";
  return text;
}

class AgainstReference : public testing::TestWithParam<unsigned> {};

TEST_P(AgainstReference, CountsAndPairsAgree) {
  std::mt19937 random(GetParam());
  const coherence_config config = RandomMachine(random);
  Simulation sim(config);
  Reference reference(config);
  const std::uint32_t span = 64U << random() % 5;
  for (int step = 0; step < 3000; ++step) {
    const std::uint32_t cpu = random() % config.cpus;
    const std::uint64_t address = Simulation::kLine + random() % span;
    const std::uint32_t width = 1 + random() % 16;
    const auto kind = static_cast<coherence_kind>(random() % 5 == 0 ? 1 + random() % 2 : 0);
    const std::uint32_t site = random() % 3;
    coherence_access(sim.get(), cpu, address, width, kind, site);
    reference.Touch(cpu, address, width, kind, site);
    ASSERT_EQ(SpellCounts(sim.Counts()), SpellCounts(reference.counts)) << "access " << step;
  }
  EXPECT_EQ(PairsOf(sim), reference.pairs);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AgainstReference, testing::Range(0U, 40U));

}  // namespace
}  // namespace linesmith
