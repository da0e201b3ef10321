// SPDX-License-Identifier: GPL-2.0-or-later
// Private caches that are full, and lines that come unasked.
#include <gtest/gtest.h>

#include "simulation.h"

namespace linesmith {
namespace {

constexpr std::uint64_t kCachesLine = Simulation::kLine;

// Each CPU has one set of two lines.
coherence_config TwoLines(std::uint32_t cpus) {
  coherence_config config = Simulation::SmallConfig(cpus);
  config.cache_bytes = 128;
  config.cache_ways = 2;
  return config;
}

coherence_config WithPrefetch(std::uint32_t cpus) {
  coherence_config config = Simulation::SmallConfig(cpus);
  config.adjacent = 1;
  return config;
}

TEST(FiniteCache, TheLeastRecentlyUsedLineLeaves) {
  Simulation sim(TwoLines(1));
  sim.Load(0, kCachesLine);
  sim.Load(0, kCachesLine + 64);
  sim.Load(0, kCachesLine);
  sim.Load(0, kCachesLine + 128);
  EXPECT_EQ(sim.Counts().evictions, 1U);
  sim.Load(0, kCachesLine);
  EXPECT_EQ(sim.Events().hits, 2U);
  sim.Load(0, kCachesLine + 64);
  EXPECT_EQ(sim.Events().cold_miss, 4U);
}

TEST(FiniteCache, LinesOfOtherSetsStay) {
  coherence_config config = TwoLines(1);
  config.cache_bytes = 256;
  Simulation sim(config);
  sim.Load(0, kCachesLine);
  for (int line = 1; line < 9; line += 2) sim.Load(0, kCachesLine + 64 * line);
  sim.Load(0, kCachesLine);
  EXPECT_EQ(sim.Events().hits, 1U);
}

TEST(FiniteCache, AnEvictedModifiedLineIsNoHitm) {
  Simulation sim(TwoLines(2));
  sim.Store(0, kCachesLine);
  sim.Load(0, kCachesLine + 64);
  sim.Load(0, kCachesLine + 128);
  sim.Load(1, kCachesLine);
  EXPECT_EQ(sim.Events().hitm_local, 0U);
  EXPECT_EQ(sim.Events().cold_miss, 4U);
  EXPECT_EQ(sim.Counts().contended, 0U);
}

TEST(FiniteCache, WhatWasWrittenBeforeTheEvictionIsRemembered) {
  Simulation sim(TwoLines(2));
  sim.Load(1, kCachesLine + 8);
  sim.Store(0, kCachesLine + 8);
  sim.Load(0, kCachesLine + 64);
  sim.Load(0, kCachesLine + 128);
  sim.Load(1, kCachesLine + 8);
  EXPECT_EQ(sim.Events().invalidated, 1U) << "CPU 1 lost its copy to the store, wherever the line is now";
  EXPECT_EQ(sim.Counts().true_sharing, 1U);
}

TEST(FiniteCache, WhatTheEvictedWriterWroteIsNoNewsToItself) {
  Simulation sim(TwoLines(2));
  sim.Store(0, kCachesLine);
  sim.Load(0, kCachesLine + 64);
  sim.Load(0, kCachesLine + 128);
  sim.Store(1, kCachesLine + 8);
  sim.Load(0, kCachesLine);
  EXPECT_EQ(sim.Events().hitm_local, 1U);
  EXPECT_EQ(sim.Counts().false_sharing, 1U);
}

TEST(FiniteCache, ACopyThatWasTakenMakesRoomFirst) {
  Simulation sim(TwoLines(2));
  sim.Load(0, kCachesLine);
  sim.Load(0, kCachesLine + 64);
  sim.Store(1, kCachesLine + 64);
  sim.Load(0, kCachesLine + 128);
  EXPECT_EQ(sim.Counts().evictions, 0U);
  sim.Load(0, kCachesLine);
  EXPECT_EQ(sim.Events().hits, 1U);
}

TEST(Prefetch, TheOtherLineOfThePairComesAlong) {
  Simulation sim(WithPrefetch(1));
  sim.Load(0, kCachesLine + 64);
  sim.Load(0, kCachesLine);
  EXPECT_EQ(sim.Events().cold_miss, 1U);
  EXPECT_EQ(sim.Events().hits, 1U);
  EXPECT_EQ(sim.Counts().prefetches, 1U);
}

TEST(Prefetch, TheLineBehindThePairDoesNot) {
  Simulation sim(WithPrefetch(1));
  sim.Load(0, kCachesLine + 64);
  sim.Load(0, kCachesLine + 128);
  EXPECT_EQ(sim.Events().cold_miss, 2U);
}

TEST(Prefetch, TheOwnerPaysForACopyThatNobodyUses) {
  Simulation sim(WithPrefetch(2));
  sim.Store(0, kCachesLine);
  sim.Load(1, kCachesLine + 64);
  sim.Store(0, kCachesLine);
  EXPECT_EQ(sim.Events().upgrade, 1U);
  EXPECT_EQ(sim.Counts().prefetch_upgrades, 1U);
  EXPECT_EQ(sim.Lines().size(), 1U);
}

TEST(Prefetch, ACopyThatWasUsedIsOrdinarySharing) {
  Simulation sim(WithPrefetch(2));
  sim.Store(0, kCachesLine);
  sim.Load(1, kCachesLine + 64);
  sim.Load(1, kCachesLine);
  sim.Store(0, kCachesLine);
  EXPECT_EQ(sim.Events().upgrade, 1U);
  EXPECT_EQ(sim.Counts().prefetch_upgrades, 0U);
}

TEST(Prefetch, WritersOfAPairDisturbEachOther) {
  Simulation with(WithPrefetch(2));
  Simulation without(2);
  for (Simulation* sim : {&with, &without})
    for (int round = 0; round < 100; ++round)
      for (std::uint32_t cpu = 0; cpu < 2; ++cpu) {
        sim->Load(cpu, kCachesLine + 64 * cpu);
        sim->Store(cpu, kCachesLine + 64 * cpu);
      }
  EXPECT_EQ(without.Counts().contended, 0U);
  EXPECT_GT(with.Counts().prefetch_upgrades, 0U);
}

TEST(Prefetch, OffCostsNothing) {
  Simulation sim(2);
  sim.Store(0, kCachesLine);
  sim.Load(1, kCachesLine + 64);
  sim.Store(0, kCachesLine);
  EXPECT_EQ(sim.Counts().prefetches, 0U);
  EXPECT_EQ(sim.Events().upgrade, 0U);
}

}  // namespace
}  // namespace linesmith
