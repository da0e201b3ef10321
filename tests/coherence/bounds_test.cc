// SPDX-License-Identifier: GPL-2.0-or-later
// Tables that are full say so, and configurations that make no sense are refused.
#include <gtest/gtest.h>

#include "simulation.h"

namespace linesmith {
namespace {

constexpr std::uint64_t kLine = Simulation::kLine;

TEST(Bounds, AccessesToLinesThatFoundNoSlotAreCounted) {
  coherence_config config = Simulation::SmallConfig(1);
  config.max_lines = 16;
  Simulation sim(config);
  for (std::uint64_t line = 0; line < 100; ++line) sim.Load(0, kLine + 64 * line);
  EXPECT_EQ(sim.Counts().lines, 16U);
  EXPECT_EQ(sim.Counts().dropped_lines, 84U);
  EXPECT_EQ(sim.Events().cold_miss, 16U);
}

TEST(Bounds, LinesWithoutRoomForADetailAreCounted) {
  coherence_config config = Simulation::SmallConfig(2);
  config.max_contended = 1;
  Simulation sim(config);
  for (std::uint64_t line = 0; line < 3; ++line) {
    sim.Store(0, kLine + 64 * line);
    sim.Load(1, kLine + 64 * line);
  }
  EXPECT_EQ(sim.Events().hitm_local, 3U) << "the totals are right all the same";
  EXPECT_EQ(sim.Counts().dropped_contended, 2U);
  EXPECT_EQ(sim.Lines().size(), 1U);
}

TEST(Bounds, EventsWithoutRoomForARecordAreCounted) {
  coherence_config config = Simulation::SmallConfig(2);
  config.max_accesses = 2;
  Simulation sim(config);
  sim.Store(0, kLine);
  for (std::uint32_t site = 0; site < 5; ++site) sim.Load(1, kLine, 8, site);
  EXPECT_EQ(sim.Records().size(), 2U);
  EXPECT_EQ(sim.Counts().dropped_accesses, 3U);
}

TEST(Bounds, EventsWithoutRoomForAPairAreCounted) {
  coherence_config config = Simulation::SmallConfig(2);
  config.max_pairs = 1;
  Simulation sim(config);
  for (std::uint32_t site = 0; site < 5; ++site) {
    sim.Store(0, kLine, 8, 9);
    sim.Load(1, kLine, 8, site);
  }
  EXPECT_EQ(sim.Pairs().size(), 1U);
  EXPECT_EQ(sim.Counts().dropped_pairs, 4U);
}

TEST(Bounds, NoRecordsAreKeptAndNoneDroppedWhenNoneAreWanted) {
  coherence_config config = Simulation::SmallConfig(2);
  config.max_accesses = config.max_pairs = 0;
  Simulation sim(config);
  sim.Store(0, kLine);
  sim.Load(1, kLine);
  EXPECT_TRUE(sim.Records().empty());
  EXPECT_TRUE(sim.Pairs().empty());
  EXPECT_EQ(sim.Counts().dropped_accesses + sim.Counts().dropped_pairs, 0U);
  EXPECT_EQ(sim.Counts().true_sharing, 1U);
}

TEST(Bounds, RecordsGrowWithoutLosingAny) {
  Simulation sim(2);
  sim.Store(0, kLine);
  for (std::uint32_t round = 0; round < 2; ++round)
    for (std::uint32_t site = 0; site < 5000; ++site) sim.Load(1, kLine, 8, site);
  std::uint64_t hits = 0;
  for (const coherence_record& record : sim.Records()) hits += record.events.hits;
  EXPECT_EQ(sim.Records().size(), 5000U);
  EXPECT_EQ(hits, 9999U);
}

TEST(Bounds, ADefaultConfigurationIsRight) {
  const coherence_config config = coherence_default_config(64);
  EXPECT_EQ(coherence_check(&config), nullptr);
}

void ExpectRefused(const coherence_config& config, const char* why) {
  EXPECT_STREQ(coherence_check(&config), why);
  EXPECT_EQ(coherence_create(&config), nullptr);
}

TEST(Bounds, OddLineSizesAreRefused) {
  coherence_config config = Simulation::SmallConfig(1);
  config.line_bytes = 32;
  ExpectRefused(config, "a cache line has 64, 128 or 256 bytes");
}

TEST(Bounds, MoreCpusThanBitsAreRefused) {
  ExpectRefused(Simulation::SmallConfig(65), "there are 1 to 64 CPUs");
  ExpectRefused(Simulation::SmallConfig(0), "there are 1 to 64 CPUs");
}

TEST(Bounds, ACacheOfThreeSetsIsRefused) {
  coherence_config config = Simulation::SmallConfig(1);
  config.cache_bytes = std::uint64_t{3} * 8 * 64;
  ExpectRefused(config,
                "the bytes of a private cache must be its ways times the line size times a power of two");
}

TEST(Bounds, ACacheWithoutWaysIsRefused) {
  coherence_config config = Simulation::SmallConfig(1);
  config.cache_bytes = 4096;
  config.cache_ways = 0;
  ExpectRefused(config, "a private cache has 1 to 64 ways");
}

}  // namespace
}  // namespace linesmith
