// SPDX-License-Identifier: GPL-2.0-or-later
// What each access costs by the state of its line, one transition per test.
#include <gtest/gtest.h>

#include "simulation.h"

namespace linesmith {
namespace {

constexpr std::uint64_t kStatesLine = Simulation::kLine;

TEST(States, FirstTouchComesFromMemory) {
  Simulation sim(2);
  sim.Load(0, kStatesLine);
  EXPECT_EQ(sim.Events().cold_miss, 1U);
  EXPECT_EQ(sim.Events().hits, 0U);
}

TEST(States, ALineOfOnesOwnHits) {
  Simulation sim(2);
  sim.Load(0, kStatesLine);
  sim.Load(0, kStatesLine + 32);
  sim.Store(0, kStatesLine + 8);
  sim.Atomic(0, kStatesLine + 8);
  EXPECT_EQ(sim.Events().cold_miss, 1U);
  EXPECT_EQ(sim.Events().hits, 3U);
}

TEST(States, ACopyReadAloneIsStoredToWithoutAsking) {
  Simulation sim(2);
  sim.Load(0, kStatesLine);
  sim.Store(0, kStatesLine);
  EXPECT_EQ(sim.Events().upgrade, 0U);
  EXPECT_EQ(sim.Counts().contended, 0U);
}

TEST(States, ReadersShareForNothing) {
  Simulation sim(8);
  for (int round = 0; round < 100; ++round)
    for (std::uint32_t cpu = 0; cpu < 8; ++cpu) sim.Load(cpu, kStatesLine + 8 * cpu);
  EXPECT_EQ(sim.Events().cold_miss, 1U);
  EXPECT_EQ(sim.Events().shared_miss, 7U);
  EXPECT_EQ(sim.Events().hits, 792U);
  EXPECT_EQ(sim.Counts().contended, 0U);
  EXPECT_TRUE(sim.Lines().empty());
  EXPECT_TRUE(sim.Records().empty());
}

TEST(States, LoadOfAModifiedLineIsAHitm) {
  Simulation sim(2);
  sim.Store(0, kStatesLine);
  sim.Load(1, kStatesLine);
  EXPECT_EQ(sim.Events().hitm_local, 1U);
  EXPECT_EQ(sim.Counts().contended, 1U);
}

TEST(States, AHitmLeavesTheLineSharedAndClean) {
  Simulation sim(3);
  sim.Store(0, kStatesLine);
  sim.Load(1, kStatesLine);
  sim.Load(2, kStatesLine);
  sim.Load(0, kStatesLine);
  EXPECT_EQ(sim.Events().hitm_local, 1U);
  EXPECT_EQ(sim.Events().shared_miss, 1U);
  EXPECT_EQ(sim.Events().hits, 1U);
}

TEST(States, StoreToASharedCopyUpgrades) {
  Simulation sim(2);
  sim.Load(0, kStatesLine);
  sim.Load(1, kStatesLine);
  sim.Store(0, kStatesLine);
  EXPECT_EQ(sim.Events().upgrade, 1U);
  EXPECT_EQ(sim.Counts().invalidations, 1U);
  EXPECT_EQ(sim.Counts().contended, 1U);
}

TEST(States, StoreTakesAModifiedLine) {
  Simulation sim(2);
  sim.Store(0, kStatesLine);
  sim.Store(1, kStatesLine);
  EXPECT_EQ(sim.Events().own_local, 1U);
  EXPECT_EQ(sim.Counts().invalidations, 1U);
}

TEST(States, StoreTakesCleanCopies) {
  Simulation sim(4);
  sim.Load(0, kStatesLine);
  sim.Load(1, kStatesLine);
  sim.Load(2, kStatesLine);
  sim.Store(3, kStatesLine);
  EXPECT_EQ(sim.Events().shared_miss, 3U);
  EXPECT_EQ(sim.Counts().invalidations, 3U);
  EXPECT_EQ(sim.Counts().contended, 1U);
}

TEST(States, PingPongMissesEveryTime) {
  Simulation sim(2);
  for (int round = 0; round < 1000; ++round) {
    sim.Atomic(0, kStatesLine);
    sim.Atomic(1, kStatesLine);
  }
  EXPECT_EQ(sim.Events().cold_miss, 1U);
  EXPECT_EQ(sim.Events().own_local, 1999U);
  EXPECT_EQ(sim.Events().invalidated, 1998U);
  EXPECT_EQ(sim.Counts().invalidations, 1999U);
}

TEST(States, OneWriterAndOneReaderMissInTurn) {
  Simulation sim(2);
  for (int round = 0; round < 1000; ++round) {
    sim.Store(0, kStatesLine);
    sim.Load(1, kStatesLine);
  }
  EXPECT_EQ(sim.Events().cold_miss, 1U);
  EXPECT_EQ(sim.Events().hitm_local, 1000U);
  EXPECT_EQ(sim.Events().upgrade, 999U);
}

TEST(States, ALineOfAnotherNodeIsRemote) {
  coherence_config config = Simulation::SmallConfig(3);
  config.node_of_cpu[2] = 1;
  Simulation sim(config);
  sim.Store(0, kStatesLine);
  sim.Load(2, kStatesLine);
  sim.Store(1, kStatesLine);
  sim.Store(2, kStatesLine);
  EXPECT_EQ(sim.Events().hitm_remote, 1U);
  EXPECT_EQ(sim.Events().own_remote, 1U);
  EXPECT_EQ(sim.Events().hitm_local, 0U);
  EXPECT_EQ(sim.Events().shared_miss, 1U);
}

TEST(States, EveryAccessEndsInOneOutcome) {
  Simulation sim(4);
  for (std::uint32_t step = 0; step < 1000; ++step) {
    const std::uint64_t address = kStatesLine + step * 40 % 256 / 8 * 8;
    if (step % 3 == 0) sim.Store(step % 4, address);
    if (step % 3 != 0) sim.Load(step % 4, address);
  }
  const coherence_events events = sim.Events();
  EXPECT_EQ(events.hits + events.hitm_local + events.shared_miss + events.cold_miss + events.upgrade +
                events.own_local,
            1000U);
}

TEST(States, TheLastCpuHasABitToo) {
  Simulation sim(64);
  for (std::uint32_t cpu = 0; cpu < 64; ++cpu) sim.Load(cpu, kStatesLine);
  sim.Store(63, kStatesLine);
  EXPECT_EQ(sim.Counts().invalidations, 63U);
  sim.Load(0, kStatesLine);
  EXPECT_EQ(sim.Events().hitm_local, 1U);
}

TEST(States, AnAccessThatSpansLinesTouchesEach) {
  Simulation sim(2);
  sim.Store(0, kStatesLine + 60, 8);
  EXPECT_EQ(sim.Counts().accesses, 1U);
  EXPECT_EQ(sim.Counts().spanning, 1U);
  EXPECT_EQ(sim.Events().cold_miss, 2U);
  sim.Load(1, kStatesLine + 64, 4);
  EXPECT_EQ(sim.Events().hitm_local, 1U);
}

TEST(States, AWideAccessTouchesAllItsLines) {
  Simulation sim(1);
  sim.Store(0, kStatesLine + 32, 200);
  EXPECT_EQ(sim.Events().cold_miss, 4U);
}

TEST(States, TheEndOfTheAddressSpaceIsALine) {
  Simulation sim(1);
  sim.Load(0, UINT64_MAX, 1);
  sim.Load(0, 0, 1);
  EXPECT_EQ(sim.Events().cold_miss, 2U);
}

TEST(States, LongerLinesShareMore) {
  coherence_config config = Simulation::SmallConfig(2);
  config.line_bytes = 128;
  Simulation sim(config);
  sim.Store(0, kStatesLine);
  sim.Store(1, kStatesLine + 64);
  EXPECT_EQ(sim.Events().own_local, 1U);
  EXPECT_EQ(sim.Lines().at(0).address, kStatesLine);
}

}  // namespace
}  // namespace linesmith
