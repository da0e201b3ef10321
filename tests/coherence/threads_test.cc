// SPDX-License-Identifier: GPL-2.0-or-later
// Several threads, each with CPUs of its own, on the same lines.
#include <gtest/gtest.h>

#include <thread>

#include "simulation.h"

namespace linesmith {
namespace {

constexpr std::uint32_t kThreads = 4;
constexpr std::uint32_t kAccesses = 100000;

// A walk over 16 lines, a third of it stores, in an order of the thread's own.
void Walk(Simulation& sim, std::uint32_t thread) {
  std::uint32_t state = thread + 1;
  for (std::uint32_t step = 0; step < kAccesses; ++step) {
    state = state * 1664525 + 1013904223;
    const std::uint32_t cpu = 2 * thread + (state >> 30 & 1);
    const std::uint64_t address = Simulation::kLine + (state >> 16) % 128 * 8;
    if (state % 3 == 0) {
      sim.Store(cpu, address, 8, state % 7);
    } else {
      sim.Load(cpu, address, 8, state % 7);
    }
  }
}

void WalkAll(Simulation& sim) {
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&sim, thread] { Walk(sim, thread); });
  for (std::thread& thread : threads) thread.join();
}

std::uint64_t Outcomes(const coherence_events& events) {
  return events.hits + events.hitm_local + events.hitm_remote + events.shared_miss + events.cold_miss +
         events.upgrade + events.own_local + events.own_remote;
}

TEST(Threads, NoAccessIsLost) {
  Simulation sim(2 * kThreads);
  WalkAll(sim);
  EXPECT_EQ(sim.Counts().accesses, std::uint64_t{kThreads} * kAccesses);
  EXPECT_EQ(Outcomes(sim.Events()), std::uint64_t{kThreads} * kAccesses);
  EXPECT_EQ(sim.Counts().lines, 16U);
  std::uint64_t of_lines = 0;
  for (const coherence_line& line : sim.Lines()) of_lines += line.loads + line.stores;
  EXPECT_EQ(of_lines, std::uint64_t{kThreads} * kAccesses);
}

TEST(Threads, EveryHitmHasItsPair) {
  Simulation sim(2 * kThreads);
  WalkAll(sim);
  std::uint64_t pairs = 0;
  for (const coherence_pair& pair : sim.Pairs()) pairs += pair.local + pair.remote;
  const coherence_counts counts = sim.Counts();
  EXPECT_EQ(pairs, counts.true_sharing + counts.false_sharing);
  EXPECT_GE(pairs, counts.events.hitm_local + counts.events.own_local);
}

TEST(Threads, EvictionsAndPrefetchesMixWithThem) {
  coherence_config config = Simulation::SmallConfig(2 * kThreads);
  config.cache_bytes = 512;
  config.cache_ways = 2;
  config.adjacent = 1;
  Simulation sim(config);
  WalkAll(sim);
  EXPECT_EQ(Outcomes(sim.Events()), std::uint64_t{kThreads} * kAccesses);
  EXPECT_GT(sim.Counts().evictions, 0U);
}

}  // namespace
}  // namespace linesmith
