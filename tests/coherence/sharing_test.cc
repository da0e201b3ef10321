// SPDX-License-Identifier: GPL-2.0-or-later
// Who is blamed for a miss, and whether the bytes were shared or only the line.
#include <gtest/gtest.h>

#include "simulation.h"

namespace linesmith {
namespace {

constexpr std::uint64_t kSharingLine = Simulation::kLine;

coherence_pair OnlyPair(const Simulation& sim) {
  const std::vector<coherence_pair> pairs = sim.Pairs();
  EXPECT_EQ(pairs.size(), 1U);
  return pairs.empty() ? coherence_pair{} : pairs[0];
}

TEST(Sharing, ReadingWhatWasWrittenIsTrue) {
  Simulation sim(2);
  sim.Store(0, kSharingLine + 8);
  sim.Load(1, kSharingLine + 8);
  EXPECT_TRUE(OnlyPair(sim).true_sharing);
  EXPECT_EQ(sim.Counts().true_sharing, 1U);
}

TEST(Sharing, ReadingTheNeighbourIsFalse) {
  Simulation sim(2);
  sim.Store(0, kSharingLine + 8);
  sim.Load(1, kSharingLine + 16);
  EXPECT_FALSE(OnlyPair(sim).true_sharing);
  EXPECT_EQ(sim.Counts().false_sharing, 1U);
}

TEST(Sharing, BytesOfOneWordAreTold) {
  Simulation sim(2);
  sim.Store(0, kSharingLine + 4, 1);
  sim.Load(1, kSharingLine + 5, 1);
  EXPECT_FALSE(OnlyPair(sim).true_sharing);
}

TEST(Sharing, OverlapByOneByteIsTrue) {
  Simulation sim(2);
  sim.Store(0, kSharingLine + 7, 1);
  sim.Load(1, kSharingLine, 8);
  EXPECT_TRUE(OnlyPair(sim).true_sharing);
}

TEST(Sharing, StoresThatHitCountAsWritten) {
  Simulation sim(2);
  sim.Store(0, kSharingLine, 8, 10);
  sim.Store(0, kSharingLine + 32, 8, 11);
  sim.Load(1, kSharingLine + 32, 8, 20);
  const coherence_pair pair = OnlyPair(sim);
  EXPECT_TRUE(pair.true_sharing);
  EXPECT_EQ(pair.writer_offset, 0U) << "the store that took ownership is blamed";
  EXPECT_EQ(pair.writer_site, 10U);
}

TEST(Sharing, WhatWasSeenBeforeIsNotNewAgain) {
  Simulation sim(2);
  sim.Store(0, kSharingLine);
  sim.Load(1, kSharingLine);
  sim.Store(0, kSharingLine + 32);
  sim.Load(1, kSharingLine);
  EXPECT_EQ(sim.Counts().true_sharing, 1U);
  EXPECT_EQ(sim.Counts().false_sharing, 1U);
}

TEST(Sharing, WhatTwoOthersWroteAddsUp) {
  Simulation sim(3);
  sim.Load(0, kSharingLine);
  sim.Store(1, kSharingLine + 8, 8, 1);
  sim.Store(2, kSharingLine + 16, 8, 2);
  sim.Load(0, kSharingLine + 8, 8, 3);
  const std::vector<coherence_pair> pairs = sim.Pairs();
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].victim_cpu, 0U);
  EXPECT_TRUE(pairs[0].true_sharing) << "CPU 1 wrote these bytes, though CPU 2 has the line";
  EXPECT_EQ(pairs[0].writer_site, 1U) << "CPU 1 took the copy away";
  EXPECT_FALSE(pairs[1].true_sharing);
}

TEST(Sharing, OnesOwnStoresAreNotNews) {
  Simulation sim(2);
  sim.Store(0, kSharingLine);
  sim.Store(1, kSharingLine + 8);
  sim.Load(0, kSharingLine);
  EXPECT_EQ(sim.Counts().true_sharing, 0U);
  EXPECT_EQ(sim.Counts().false_sharing, 2U);
}

TEST(Sharing, AWriterFromBeforeTheFirstMeetingIsKnown) {
  Simulation sim(3);
  sim.Store(0, kSharingLine);
  sim.Load(1, kSharingLine + 8);
  sim.Load(2, kSharingLine);
  EXPECT_EQ(sim.Events().shared_miss, 1U);
  EXPECT_EQ(sim.Counts().false_sharing, 1U);
  sim.Store(0, kSharingLine + 16);
  sim.Load(1, kSharingLine);
  EXPECT_EQ(sim.Counts().false_sharing, 2U) << "CPU 1 got bytes 0 to 7 with its first copy";
}

TEST(Sharing, ACleanMissAfterInvalidationHasItsWriter) {
  Simulation sim(3);
  sim.Load(1, kSharingLine + 16, 8, 1);
  sim.Load(2, kSharingLine + 16, 8, 2);
  sim.Store(0, kSharingLine, 8, 3);
  sim.Load(1, kSharingLine + 16, 8, 1);
  sim.Load(2, kSharingLine + 16, 8, 2);
  EXPECT_EQ(sim.Events().hitm_local, 1U);
  EXPECT_EQ(sim.Events().invalidated, 2U);
  const std::vector<coherence_pair> pairs = sim.Pairs();
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[1].victim_site, 2U);
  EXPECT_EQ(pairs[1].writer_site, 3U);
  EXPECT_EQ(pairs[1].local, 1U);
}

TEST(Sharing, PairsCountBySites) {
  Simulation sim(2);
  for (int round = 0; round < 10; ++round) {
    sim.Store(0, kSharingLine, 8, 7);
    sim.Load(1, kSharingLine + 32, 4, 9);
  }
  const coherence_pair pair = OnlyPair(sim);
  EXPECT_EQ(pair.line, kSharingLine);
  EXPECT_EQ(pair.victim_offset, 32U);
  EXPECT_EQ(pair.victim_width, 4U);
  EXPECT_EQ(pair.victim_site, 9U);
  EXPECT_EQ(pair.victim_kind, COHERENCE_LOAD);
  EXPECT_EQ(pair.victim_cpu, 1U);
  EXPECT_EQ(pair.writer_offset, 0U);
  EXPECT_EQ(pair.writer_width, 8U);
  EXPECT_EQ(pair.writer_site, 7U);
  EXPECT_EQ(pair.writer_cpu, 0U);
  EXPECT_EQ(pair.local, 10U);
  EXPECT_EQ(pair.remote, 0U);
}

TEST(Sharing, RecordsTellHitsFromMisses) {
  Simulation sim(2);
  sim.Store(0, kSharingLine, 8, 7);
  for (int round = 0; round < 5; ++round) sim.Load(1, kSharingLine, 8, 9);
  for (const coherence_record& record : sim.Records()) {
    EXPECT_EQ(record.cpu, 1U);
    EXPECT_EQ(record.site, 9U);
    EXPECT_EQ(record.events.hitm_local, 1U);
    EXPECT_EQ(record.events.hits, 4U);
  }
  EXPECT_EQ(sim.Records().size(), 1U) << "the store came before the first meeting";
}

TEST(Sharing, HitsAreRecordedOnceALineHasConflictsEnough) {
  coherence_config config = Simulation::SmallConfig(2);
  config.hits_after = 2;
  Simulation sim(config);
  for (int round = 0; round < 2; ++round) {
    sim.Store(0, kSharingLine);
    for (int repeat = 0; repeat < 5; ++repeat) sim.Load(1, kSharingLine + 8);
  }
  for (const coherence_record& record : sim.Records()) {
    if (record.cpu != 1) continue;
    EXPECT_EQ(record.events.hitm_local, 2U) << "events are recorded from the first on";
    EXPECT_EQ(record.events.hits, 4U) << "the upgrade was the second conflict";
  }
  EXPECT_EQ(sim.Lines().at(0).loads, 10U);
}

TEST(Sharing, TheLineCountsFromItsFirstAccess) {
  Simulation sim(2);
  sim.Store(1, kSharingLine);
  for (int round = 0; round < 5; ++round) sim.Load(1, kSharingLine);
  sim.Load(0, kSharingLine);
  const coherence_line line = sim.Lines().at(0);
  EXPECT_EQ(line.loads, 6U);
  EXPECT_EQ(line.stores, 1U);
  EXPECT_EQ(line.first_cpu, 1U);
  EXPECT_EQ(line.conflicts, 1U);
}

// Conflicts by which hits are recorded, then one more round: CPU 1 misses on the first word and hits the
// second.
void Rounds(Simulation* sim, int count) {
  for (int round = 0; round < count; ++round) {
    sim->Store(0, kSharingLine, 8, 1);
    sim->Load(1, kSharingLine + 8, 8, 2);
    sim->Load(1, kSharingLine + 16, 8, 3);
    sim->Load(1, kSharingLine + 16, 8, 3);
  }
}

TEST(Sharing, BytesBehindTheOneThatMissedAreShadowedOnceAStay) {
  Simulation sim(2);
  Rounds(&sim, 10);
  const std::vector<coherence_pair> pairs = sim.Pairs();
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].local, 10U);
  EXPECT_EQ(pairs[0].shadowed, 0U);
  EXPECT_EQ(pairs[1].victim_site, 3U);
  EXPECT_EQ(pairs[1].writer_site, 1U);
  EXPECT_FALSE(pairs[1].true_sharing);
  EXPECT_EQ(pairs[1].local, 0U);
  EXPECT_EQ(pairs[1].shadowed, 10U);
}

TEST(Sharing, ACopyThatWasFetchedAheadShadowsNothing) {
  coherence_config config = Simulation::SmallConfig(2);
  config.adjacent = 1;
  Simulation sim(config);
  sim.Store(0, kSharingLine, 8, 1);
  sim.Load(1, kSharingLine, 8, 2);
  sim.Store(0, kSharingLine, 8, 1);
  sim.Load(1, kSharingLine + 64, 8, 4);
  sim.Load(1, kSharingLine + 8, 8, 3);
  std::uint64_t shadowed = 0;
  for (const coherence_pair& pair : sim.Pairs()) shadowed += pair.shadowed;
  EXPECT_EQ(shadowed, 0U);
}

TEST(Sharing, ACopyThatNobodyTookShadowsNothing) {
  Simulation sim(2);
  sim.Load(0, kSharingLine + 8);
  sim.Load(1, kSharingLine + 8);
  sim.Load(1, kSharingLine + 16);
  EXPECT_TRUE(sim.Pairs().empty());
}

}  // namespace
}  // namespace linesmith
