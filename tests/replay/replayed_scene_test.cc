// SPDX-License-Identifier: GPL-2.0-or-later
// What a line cost under one plan is used under the next: no replay depends on those before it.
#include "replayed_scene.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "traced_program.h"

namespace linesmith::replay {
namespace {

constexpr std::uint64_t kSceneBase = 0xffff888000300000;
constexpr std::uint32_t kSceneCpus = 5;
constexpr std::uint32_t kSceneObjects = 6;
constexpr std::uint32_t kWord = 8;
constexpr std::uint32_t kWords = 40;  // of an object

class RandomPlans {
 public:
  explicit RandomPlans(unsigned seed) : engine_(seed) {}

  std::uint32_t Below(std::uint32_t bound) { return static_cast<std::uint32_t>(engine_() % bound); }

  // Accesses to whole words, so that all lines look alike, or to any bytes.
  Program Accesses() {
    Program program;
    const bool whole = Below(2) == 0;
    for (std::uint32_t slices = 300; slices > 0; --slices) {
      std::vector<Step> slice;
      const std::uint32_t cpu = Below(kSceneCpus);
      for (std::uint32_t steps = 1 + Below(20); steps > 0; --steps) {
        const std::uint32_t width = whole ? kWord : 1 + Below(Below(4) ? kWord : 40);
        const std::uint32_t offset = whole ? kWord * Below(kWords) : Below(kWords * kWord - width + 1);
        slice.push_back({cpu, Below(kSceneObjects), offset, width, static_cast<coherence_kind>(Below(3))});
      }
      program.push_back(slice);
    }
    return program;
  }

  // Few words change places, so most lines are those of other plans.
  Plan Next() {
    Plan plan{std::vector<KindPlan>(1), std::nullopt};
    KindPlan& kind = plan.kinds[0];
    for (std::uint32_t word = 0; word < kWords; ++word)
      kind.pieces.push_back({word * kWord, kWord, word * kWord});
    for (std::uint32_t swaps = Below(4); swaps > 0; --swaps)
      std::swap(kind.pieces[Below(kWords)].new_offset, kind.pieces[Below(kWords)].new_offset);
    if (Below(4) == 0) kind.shift = kWord * Below(8);
    if (Below(8) == 0) kind.placement = {kWords * kWord + 64, 4, 4096, 0};
    if (Below(8) == 0) {
      plan.sharding.emplace();
      plan.sharding->ranges = {{0, 0, 16}};
      plan.sharding->ways = 2;
      plan.sharding->shard_of_cpu = {0, 1, 0, 1};
    }
    return plan;
  }

 private:
  std::mt19937_64 engine_;
};

auto Counts(const coherence_events& events) {
  return std::tuple(events.hits, events.hitm_local, events.hitm_remote, events.shared_miss, events.cold_miss,
                    events.upgrade, events.own_local, events.own_remote);
}

auto Counts(const Pair& pair) {
  return std::tuple(pair.victim_kind, pair.victim_offset, pair.writer_kind, pair.writer_offset,
                    pair.true_sharing, pair.local, pair.remote);
}

void ExpectEqual(const Outcome& one, const Outcome& other) {
  EXPECT_EQ(Counts(one.events), Counts(other.events));
  EXPECT_EQ(one.windows, other.windows);
  ASSERT_EQ(one.pairs.size(), other.pairs.size());
  for (std::size_t index = 0; index < one.pairs.size(); ++index)
    EXPECT_EQ(Counts(one.pairs[index]), Counts(other.pairs[index]));
}

class Replays : public testing::TestWithParam<unsigned> {};

TEST_P(Replays, OfOneSceneDoNotDependOnEachOther) {
  RandomPlans chance(GetParam());
  const std::uint32_t stride = kWords * kWord + kWord * chance.Below(8);
  const Place place = [&](std::uint32_t object, std::uint32_t offset) {
    return kSceneBase + object * stride + offset;
  };
  const TracedProgram traced(chance.Accesses(), place, kSceneCpus, {0, 0, 1, 1, 2});
  const TraceFile trace = traced.Read({{kSceneBase, stride, kSceneObjects, 0}});
  ReplayedScene scene(trace.scenes[0], trace.machine);
  std::uint32_t line_bytes = 64, windows = 3;
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE(round);
    if (chance.Below(6) == 0) line_bytes = 64u << chance.Below(3);
    if (chance.Below(6) == 0) windows = 1 + chance.Below(4);
    const Plan plan = chance.Next();
    const Outcome outcome = Simulate(trace.scenes[0], trace.machine, plan, line_bytes, windows);
    ExpectEqual(scene.Under(plan, line_bytes, windows), outcome);
    if (!plan.sharding) EXPECT_EQ(scene.MissesUnder(plan, line_bytes), SharedMisses(outcome.events));
  }
}

INSTANTIATE_TEST_SUITE_P(RandomPlans, Replays, testing::Range(0u, 8u));

}  // namespace
}  // namespace linesmith::replay
