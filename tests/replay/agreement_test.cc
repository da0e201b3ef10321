// SPDX-License-Identifier: GPL-2.0-or-later
// A program traced under one layout and replayed under another misses exactly as the program does under that
// other.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <tuple>

#include "traced_program.h"

namespace linesmith::replay {
namespace {

constexpr std::uint64_t kBase = 0xffff888000200000;
constexpr std::uint32_t kCpus = 5;
constexpr std::uint32_t kObjects = 6;

// A record of members of all sizes, without holes.
struct Member {
  std::uint32_t offset;
  std::uint32_t size;
};

class Chance {
 public:
  explicit Chance(unsigned seed) : engine_(seed) {}
  std::uint32_t Below(std::uint32_t bound) { return static_cast<std::uint32_t>(engine_() % bound); }
  std::mt19937_64& engine() { return engine_; }

 private:
  std::mt19937_64 engine_;
};

std::vector<Member> RandomRecord(Chance& chance) {
  std::vector<Member> members;
  std::uint32_t end = 0;
  for (std::uint32_t count = 6 + chance.Below(20); count > 0; --count) {
    const std::uint32_t size = 1u << chance.Below(6);
    members.push_back({end, size});
    end += size;
  }
  return members;
}

std::uint32_t SizeOf(const std::vector<Member>& record) { return record.back().offset + record.back().size; }

Step RandomStep(Chance& chance, std::uint32_t cpu, std::uint32_t size) {
  const std::uint32_t width = std::min(size, 1 + chance.Below(chance.Below(8) ? 8 : 64));
  return {cpu, chance.Below(kObjects), chance.Below(size - width + 1), width,
          static_cast<coherence_kind>(chance.Below(3))};
}

Program RandomProgram(Chance& chance, std::uint32_t size) {
  Program program;
  for (std::uint32_t slices = 300; slices > 0; --slices) {
    const std::uint32_t cpu = chance.Below(kCpus);
    std::vector<Step> slice;
    for (std::uint32_t steps = 1 + chance.Below(30); steps > 0; --steps) {
      slice.push_back(RandomStep(chance, cpu, size));
    }
    program.push_back(slice);
  }
  return program;
}

// The members in another order, as pieces by old offset.
std::vector<Piece> RandomOrder(Chance& chance, const std::vector<Member>& record) {
  std::vector<std::size_t> order(record.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), chance.engine());
  std::vector<Piece> pieces;
  std::uint32_t end = 0;
  for (const std::size_t index : order) {
    end += chance.Below(4) ? 0 : chance.Below(16);
    pieces.push_back({record[index].offset, record[index].size, end});
    end += record[index].size;
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& one, const Piece& other) { return one.old_offset < other.old_offset; });
  return pieces;
}

using PairKey = std::tuple<std::uint32_t, std::uint32_t, bool>;
using PairCounts = std::map<PairKey, std::pair<std::uint64_t, std::uint64_t>>;

PairCounts PairsOf(coherence* sim) {
  PairCounts counts;
  const auto add = [](void* context, const coherence_pair* pair) {
    if (pair->local + pair->remote == 0) return;  // it was only shadowed: no miss
    auto& [local, remote] =
        (*static_cast<PairCounts*>(context))[{pair->victim_site, pair->writer_site, pair->true_sharing != 0}];
    local += pair->local;
    remote += pair->remote;
  };
  coherence_visit_pairs(sim, add, &counts);
  return counts;
}

PairCounts PairsOf(const Outcome& outcome) {
  PairCounts counts;
  for (const Pair& pair : outcome.pairs) {
    counts[{pair.victim_offset, pair.writer_offset, pair.true_sharing}] = {pair.local, pair.remote};
  }
  return counts;
}

void ExpectEqual(const Outcome& replayed, coherence* direct) {
  const coherence_events events = coherence_count(direct).events;
  EXPECT_EQ(replayed.events.hitm_local, events.hitm_local);
  EXPECT_EQ(replayed.events.hitm_remote, events.hitm_remote);
  EXPECT_EQ(replayed.events.shared_miss, events.shared_miss);
  EXPECT_EQ(replayed.events.cold_miss, events.cold_miss);
  EXPECT_EQ(replayed.events.upgrade, events.upgrade);
  EXPECT_EQ(replayed.events.own_local, events.own_local);
  EXPECT_EQ(replayed.events.own_remote, events.own_remote);
  EXPECT_EQ(PairsOf(replayed), PairsOf(direct));
}

class Agreement : public testing::TestWithParam<unsigned> {};

TEST_P(Agreement, WithTheLayoutSimulatedDirectly) {
  Chance chance(GetParam());
  const std::vector<Member> record = RandomRecord(chance);
  const std::uint32_t size = SizeOf(record);
  const std::uint32_t old_stride = size + chance.Below(16);
  const Place before = [&](std::uint32_t object, std::uint32_t offset) {
    return kBase + object * old_stride + offset;
  };
  const Program program = RandomProgram(chance, size);
  const TracedProgram traced(program, before, kCpus, {0, 0, 1, 1, 2});
  const TraceFile trace = traced.Read({{kBase, old_stride, kObjects, 0}});

  Plan plan{{{RandomOrder(chance, record), 0, std::nullopt}}, std::nullopt};
  const std::uint64_t stride = size + 16 * record.size() + chance.Below(100);
  plan.kinds[0].placement = {stride, 4, 4096 * (stride * 4 / 4096 + 1), 8 * std::uint64_t{chance.Below(8)}};
  const Placement& slabs = *plan.kinds[0].placement;
  const Place after = [&](std::uint32_t object, std::uint32_t offset) {
    const auto piece = std::find_if(
        plan.kinds[0].pieces.begin(), plan.kinds[0].pieces.end(),
        [&](const Piece& one) { return offset >= one.old_offset && offset < one.old_offset + one.size; });
    const std::uint64_t slab = object / slabs.per_slab * slabs.slab_bytes;
    return slab + slabs.first + object % slabs.per_slab * slabs.stride + piece->new_offset + offset -
           piece->old_offset;
  };
  for (const std::uint32_t line_bytes : {64u, 128u, 256u}) {
    SCOPED_TRACE(line_bytes);
    const Plan unchanged{std::vector<KindPlan>(1), std::nullopt};
    ExpectEqual(Simulate(trace.scenes[0], trace.machine, unchanged, line_bytes, 3),
                SimulateDirectly(program, before, trace.machine, line_bytes).get());
    ExpectEqual(Simulate(trace.scenes[0], trace.machine, plan, line_bytes, 3),
                SimulateDirectly(program, after, trace.machine, line_bytes).get());
  }
}

INSTANTIATE_TEST_SUITE_P(RandomPrograms, Agreement, testing::Range(0u, 40u));

}  // namespace
}  // namespace linesmith::replay
