// SPDX-License-Identifier: GPL-2.0-or-later
// What moving members, aligning objects, longer lines and shards do to the misses of a trace.
#include <gtest/gtest.h>

#include "traced_program.h"

namespace linesmith::replay {
namespace {

constexpr std::uint64_t kLayoutBase = 0xffff888000100000;
constexpr std::uint32_t kStride = 128;
constexpr std::uint32_t kRounds = 100;

std::uint64_t AsRecorded(std::uint32_t object, std::uint32_t offset) {
  return kLayoutBase + object * kStride + offset;
}

// CPU 0 stores to one member, CPU 1 loads another, in turns.
Program FalseSharing(std::uint32_t stored, std::uint32_t loaded) {
  return Turns({Store(0, stored), Load(1, loaded)}, kRounds);
}

Plan Unchanged(std::size_t kinds = 1) { return {std::vector<KindPlan>(kinds), std::nullopt}; }

Plan Moving(std::vector<Piece> pieces) { return {{{std::move(pieces), 0, std::nullopt}}, std::nullopt}; }

// Members at bytes 8 and 96 of the object change places.
Plan SwapOfEights() { return Moving({{0, 8, 0}, {8, 8, 96}, {16, 80, 16}, {96, 8, 8}, {104, 24, 104}}); }

Outcome Replayed(const TraceFile& trace, const Plan& plan, std::uint32_t line_bytes = 64) {
  return Simulate(trace.scenes[0], trace.machine, plan, line_bytes, 1);
}

TEST(Replay, AsRecordedEveryTurnMisses) {
  const TracedProgram traced(FalseSharing(0, 8), AsRecorded, 2);
  const TraceFile trace = traced.Read({{kLayoutBase, kStride, 1, 0}});
  const coherence_events events = Replayed(trace, Unchanged()).events;
  EXPECT_EQ(events.hitm_local, kRounds);
  EXPECT_EQ(events.upgrade, kRounds - 1);
  EXPECT_EQ(SharedMisses(events), SharedMisses(trace.totals[0].events));
}

TEST(Replay, AMemberMovedToAnotherLineEndsTheConflict) {
  const TracedProgram traced(FalseSharing(0, 8), AsRecorded, 2);
  const Outcome moved = Replayed(traced.Read({{kLayoutBase, kStride, 1, 0}}), SwapOfEights());
  EXPECT_EQ(SharedMisses(moved.events), 0u);
  EXPECT_EQ(moved.events.cold_miss, 2u);
  EXPECT_TRUE(moved.pairs.empty());
}

TEST(Replay, LinesOf128BytesBringItBack) {
  const TracedProgram traced(FalseSharing(0, 8), AsRecorded, 2);
  const TraceFile trace = traced.Read({{kLayoutBase, kStride, 1, 0}});
  EXPECT_EQ(Replayed(trace, SwapOfEights(), 128).events.hitm_local, kRounds);
}

TEST(Replay, AMemberMovedBesideAWriterStartsAConflict) {
  const TracedProgram traced(FalseSharing(0, 96), AsRecorded, 2);
  const TraceFile trace = traced.Read({{kLayoutBase, kStride, 1, 0}});
  EXPECT_EQ(SharedMisses(Replayed(trace, Unchanged()).events), 0u);
  EXPECT_EQ(Replayed(trace, SwapOfEights()).events.hitm_local, kRounds);
}

TEST(Replay, ThePairNamesPlacesOfTheOldLayout) {
  const TracedProgram traced(FalseSharing(0, 96), AsRecorded, 2);
  const Outcome moved = Replayed(traced.Read({{kLayoutBase, kStride, 1, 0}}), SwapOfEights());
  ASSERT_FALSE(moved.pairs.empty());
  EXPECT_EQ(moved.pairs[0].victim_offset, 96u);
  EXPECT_EQ(moved.pairs[0].writer_offset, 0u);
  EXPECT_FALSE(moved.pairs[0].true_sharing);
}

TEST(Replay, NoLayoutEndsTrueSharing) {
  const TracedProgram traced(FalseSharing(8, 8), AsRecorded, 2);
  const Outcome moved = Replayed(traced.Read({{kLayoutBase, kStride, 1, 0}}), SwapOfEights());
  EXPECT_EQ(moved.events.hitm_local, kRounds);
  EXPECT_TRUE(moved.pairs[0].true_sharing);
}

TEST(Replay, AnAccessToMembersThatPartTouchesBothLines) {
  const Program program = Turns({Store(0, 96), {1, 0, 0, 16, COHERENCE_LOAD}}, kRounds);
  const TracedProgram traced(program, AsRecorded, 2);
  const TraceFile trace = traced.Read({{kLayoutBase, kStride, 1, 0}});
  EXPECT_EQ(SharedMisses(Replayed(trace, Unchanged()).events), 0u);
  // The store's member comes to byte 8; the second half of the load goes to byte 96, which nobody stores to.
  EXPECT_EQ(Replayed(trace, SwapOfEights()).events.hitm_local, kRounds);
}

TEST(Replay, NeighboursOfASlabShareALineUntilObjectsAreAligned) {
  constexpr std::uint32_t stride = 96;
  const Place packed = [](std::uint32_t object, std::uint32_t offset) {
    return kLayoutBase + object * stride + offset;
  };
  const Program program = Turns({Store(0, 88, 0), Load(1, 0, 1)}, kRounds);
  const TracedProgram traced(program, packed, 2);
  const TraceFile trace = traced.Read({{kLayoutBase, stride, 42, 0}});
  EXPECT_EQ(Replayed(trace, Unchanged()).events.hitm_local, kRounds);
  Plan aligned = Unchanged();
  aligned.kinds[0].placement = {128, 32, 4096, 0};
  EXPECT_EQ(SharedMisses(Replayed(trace, aligned).events), 0u);
}

TEST(Replay, ThePhaseDecidesWhetherTwoMembersMeet) {
  // Members at 48 and 64 meet in objects that begin 32 bytes into a line, not in those that begin with one.
  const Program program = Turns({Store(0, 48, 0), Load(1, 64, 0), Store(0, 48, 1), Load(1, 64, 1)}, kRounds);
  const Place packed = [](std::uint32_t object, std::uint32_t offset) {
    return kLayoutBase + object * 160 + offset;
  };
  const TracedProgram traced(program, packed, 2);
  const TraceFile trace = traced.Read({{kLayoutBase, 160, 25, 0}});
  EXPECT_EQ(Replayed(trace, Unchanged()).events.hitm_local, kRounds);
  Plan shifted = Unchanged();
  shifted.kinds[0].placement = {192, 21, 4096, 32};
  EXPECT_EQ(Replayed(trace, shifted).events.hitm_local, 2 * kRounds);
}

TEST(Replay, AShiftGivesEveryObjectAnotherPhaseAndTheSameNeighbours) {
  const Place packed = [](std::uint32_t object, std::uint32_t offset) {
    return kLayoutBase + object * 160 + offset;
  };
  const Program program = Turns({Store(0, 48, 0), Load(1, 64, 0), Store(0, 152, 1), Load(1, 0, 2)}, kRounds);
  const TracedProgram traced(program, packed, 2);
  const TraceFile trace = traced.Read({{kLayoutBase, 160, 25, 0}});
  EXPECT_EQ(SharedMisses(Replayed(trace, Unchanged()).events), 0u);
  Plan shifted = Unchanged();
  shifted.kinds[0].shift = 32;
  EXPECT_EQ(Replayed(trace, shifted).events.hitm_local, 2 * kRounds);
}

TEST(Replay, MemoryBesideAnObjectStaysAndIsFollowed) {
  const Program program = Turns({Store(0, 0), Load(1, 32)}, kRounds);
  const TracedProgram traced(program, AsRecorded, 2);
  const TraceFile trace = traced.Read({{kLayoutBase, 16, 1, 0}});
  const Outcome outcome = Replayed(trace, Unchanged());
  EXPECT_EQ(outcome.events.hitm_local, kRounds);
  EXPECT_EQ(outcome.pairs[0].victim_kind, trace.scenes[0].objects().beside());
}

TEST(Replay, WhatLiesFarFromTheObjectsIsLeftOut) {
  const TracedProgram traced(Turns({Store(0, 0), Load(1, 0), Store(1, 4096)}, 1), AsRecorded, 2);
  EXPECT_EQ(traced.Read({{kLayoutBase, 64, 1, 0}}).scenes[0].events().size(), 2u);
}

TEST(Replay, WindowsAddUpToAllMisses) {
  const TracedProgram traced(FalseSharing(0, 8), AsRecorded, 2);
  const TraceFile trace = traced.Read({{kLayoutBase, kStride, 1, 0}});
  const Outcome outcome = Simulate(trace.scenes[0], trace.machine, Unchanged(), 64, 10);
  ASSERT_EQ(outcome.windows.size(), 10u);
  EXPECT_EQ(outcome.windows[0], 19u);  // the first store misses in no other cache
  EXPECT_EQ(outcome.windows[9], 20u);
}

TEST(Replay, MissesOfAnotherNodeAreRemote) {
  const TracedProgram traced(FalseSharing(0, 8), AsRecorded, 2, {0, 1});
  const Outcome outcome = Replayed(traced.Read({{kLayoutBase, kStride, 1, 0}}), Unchanged());
  EXPECT_EQ(outcome.events.hitm_remote, kRounds);
  EXPECT_EQ(outcome.pairs[0].local, 0u);
}

// Every CPU in turn takes a lock at byte 0 and changes what it protects at byte 8.
Program LockedBy(std::uint32_t cpus) {
  std::vector<Step> steps;
  for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) {
    steps.push_back({cpu, 0, 0, 8, COHERENCE_ATOMIC});
    steps.push_back(Store(cpu, 8));
  }
  return Turns(steps, kRounds);
}

Plan Sharded(std::uint32_t ways, const std::vector<std::uint32_t>& shard_of_cpu) {
  Sharding sharding;
  sharding.ranges = {{0, 0, 16}};
  sharding.ways = ways;
  std::copy(shard_of_cpu.begin(), shard_of_cpu.end(), sharding.shard_of_cpu.begin());
  return {std::vector<KindPlan>(1), sharding};
}

TEST(Sharding, AShardForEachCpuEndsAllConflicts) {
  const TracedProgram traced(LockedBy(4), AsRecorded, 4);
  const TraceFile trace = traced.Read({{kLayoutBase, kStride, 1, 0}});
  EXPECT_EQ(Replayed(trace, Unchanged()).events.own_local, 4 * kRounds - 1);
  EXPECT_EQ(SharedMisses(Replayed(trace, Sharded(4, {0, 1, 2, 3})).events), 0u);
}

TEST(Sharding, AShardForEachNodeLeavesTheConflictsWithinANode) {
  const TracedProgram traced(LockedBy(4), AsRecorded, 4, {0, 0, 1, 1});
  const TraceFile trace = traced.Read({{kLayoutBase, kStride, 1, 0}});
  const coherence_events sharded = Replayed(trace, Sharded(2, {0, 0, 1, 1})).events;
  EXPECT_EQ(sharded.own_remote, 0u);
  EXPECT_EQ(sharded.own_local, 4 * kRounds - 2);
}

TEST(Sharding, AnInstructionThatWalksEverythingTouchesAllShards) {
  Program program = LockedBy(2);
  program.push_back({Load(2, 8)});
  const TracedProgram traced(program, AsRecorded, 3);
  Plan plan = Sharded(2, {0, 1, 0});
  plan.sharding->everywhere = {8};
  EXPECT_EQ(Replayed(traced.Read({{kLayoutBase, kStride, 1, 0}}), plan).events.hitm_local, 2u);
}

// Eight bytes of each store go to a shard, and eight stay.
TEST(Sharding, AStoreAcrossTheEndOfAShardTouchesBoth) {
  const Step zero{0, 0, 8, 16, COHERENCE_STORE}, one{1, 0, 8, 16, COHERENCE_STORE};
  const TracedProgram traced(Turns({zero, one}, kRounds), AsRecorded, 2);
  const TraceFile trace = traced.Read({{kLayoutBase, kStride, 1, 0}});
  Plan plan = Sharded(2, {0, 1});
  EXPECT_EQ(Replayed(trace, plan).events.own_local, 2 * kRounds - 1);
  EXPECT_EQ(Replayed(trace, plan).events.cold_miss, 3u);
  plan.sharding->everywhere = {8};
  EXPECT_EQ(Replayed(trace, plan).events.own_local, 3 * (2 * kRounds - 1));
}

TEST(Plan, PiecesThatOverlapAreRefused) {
  const TracedProgram traced(FalseSharing(0, 8), AsRecorded, 2);
  const TraceFile trace = traced.Read({{kLayoutBase, kStride, 1, 0}});
  EXPECT_THROW(Replayed(trace, Moving({{0, 16, 0}, {8, 8, 64}})), std::invalid_argument);
  EXPECT_THROW(Replayed(trace, Unchanged(2)), std::invalid_argument);
}

TEST(ObjectMap, RowsThatOverlapAreRefused) {
  EXPECT_THROW(ObjectMap({{kLayoutBase, 64, 2, 0}, {kLayoutBase + 64, 64, 1, 0}}), std::invalid_argument);
}

}  // namespace
}  // namespace linesmith::replay
