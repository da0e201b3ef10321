// SPDX-License-Identifier: GPL-2.0-or-later
// The text of a recording.
#include "recording.h"

#include <gtest/gtest.h>

#include <array>
#include <span>

#include "simulation.h"
#include "trace_file.h"

namespace linesmith {
namespace {

constexpr std::uint64_t kIps[] = {0xffffffff81000000, 0xffffffff81000040, 0xffffffff81000000};

std::string Write(const Simulation& sim, std::vector<recording_setting> settings = {},
                  std::vector<recording_count> counts = {}, std::span<const recording_path> paths = {}) {
  recording what{};
  what.sim = sim.get();
  what.ips = kIps;
  what.sites = 3;
  what.low_space = 'p';
  what.paths = paths.data();
  what.path_count = static_cast<std::uint32_t>(paths.size());
  what.settings = settings.data();
  what.setting_count = static_cast<std::uint32_t>(settings.size());
  what.counts = counts.data();
  what.count_count = static_cast<std::uint32_t>(counts.size());
  const File file = TemporaryFile();
  EXPECT_EQ(recording_write(file.get(), &what), 0);
  return BytesOf(file.get());
}

// The rows of `text` that begin with `word`.
std::string Rows(const std::string& text, const std::string& word) {
  std::string rows;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin) + 1;
    if (text.compare(begin, word.size() + 1, word + " ") == 0) rows += text.substr(begin, end - begin);
    begin = end;
  }
  return rows;
}

TEST(Recording, SaysHowTheRunWasSet) {
  coherence_config config = Simulation::SmallConfig(2);
  config.node_of_cpu[1] = 3;
  const std::string text = Write(Simulation(config), {{"qemu", "7.2 (a\nb)"}}, {{"slices", 12}});
  EXPECT_EQ(text.substr(0, text.find("count")),
            "linesmith-recording 2\n"
            "set line_bytes 64\n"
            "set cpus 2\n"
            "set nodes 2\n"
            "set cache_bytes 0\n"
            "set adjacent 0\n"
            "set plugin 1\n"
            "set qemu 7.2 (a?b)\n"
            "node 0 0\n"
            "node 1 3\n");
  EXPECT_NE(text.find("\ncount slices 12\n"), std::string::npos);
  EXPECT_EQ(text.substr(text.size() - 5), "\nend\n");
}

TEST(Recording, WaysAreSaidOfAFiniteCache) {
  coherence_config config = Simulation::SmallConfig(1);
  config.cache_bytes = 32768;
  EXPECT_NE(Write(Simulation(config)).find("set cache_bytes 32768\nset cache_ways 8\n"), std::string::npos);
}

TEST(Recording, AContendedLineHasItsRows) {
  Simulation sim(2);
  const std::uint64_t address = 0xffff888000001000;
  sim.Store(0, address, 8, 0);
  sim.Load(1, address + 16, 4, 1);
  sim.Load(1, address + 16, 4, 1);
  sim.Atomic(0, address, 8, 0);
  const std::string text = Write(sim);
  EXPECT_EQ(Rows(text, "line"), "line ffff888000001000 k 2 2 0\n");
  EXPECT_EQ(Rows(text, "access"),
            "access ffff888000001000 0 8 ffffffff81000000 A 0 0 0 0 0 0 1 0 0 0\n"
            "access ffff888000001000 16 4 ffffffff81000040 L 1 1 1 0 0 0 0 0 0 0\n");
  EXPECT_EQ(Rows(text, "pair"),
            "pair ffff888000001000 16 4 ffffffff81000040 L 0 8 ffffffff81000000 false 1 0 0\n");
}

TEST(Recording, UncontendedLinesAreOnlyCounted) {
  Simulation sim(2);
  sim.Store(0, 0x1000);
  sim.Store(1, 0x2000);
  const std::string text = Write(sim);
  EXPECT_EQ(Rows(text, "line") + Rows(text, "access") + Rows(text, "pair"), "");
  EXPECT_NE(text.find("count lines 2\ncount contended 0\n"), std::string::npos);
}

TEST(Recording, SitesOfOneInstructionAreAddedUp) {
  Simulation sim(2);
  sim.Store(0, 0x1000, 8, 1);
  sim.Load(1, 0x1000, 8, 0);
  sim.Store(0, 0x1000, 8, 1);
  sim.Load(1, 0x1000, 8, 2);
  const std::string text = Write(sim);
  EXPECT_EQ(Rows(text, "pair"), "pair 1000 0 8 ffffffff81000000 L 0 8 ffffffff81000040 true 2 0 0\n");
  EXPECT_NE(text.find("access 1000 0 8 ffffffff81000000 L 1 0 2 0 0 0 0 0 0 1\n"), std::string::npos);
}

TEST(Recording, CallersAreAskedForWhereTheLineWasModifiedElsewhere) {
  Simulation sim(2);
  const std::array<recording_path, 3> paths = {
      {{}, {{0xffffffff81000100, 0xffffffff81000200}}, {{0xffffffff81000300}}}};
  std::uint32_t path = 1;
  coherence_follow_paths(
      sim.get(), [](void* now, std::uint32_t) { return *static_cast<std::uint32_t*>(now); }, &path);
  sim.Store(0, 0x1000, 8, 0);
  sim.Store(1, 0x1000, 8, 1);
  sim.Store(0, 0x1000, 8, 0);
  path = 2;
  sim.Load(1, 0x1000, 8, 1);
  sim.Load(1, 0x1000, 8, 1);
  sim.Store(0, 0x1000, 8, 0);
  const std::string text = Write(sim, {}, {}, paths);
  EXPECT_EQ(Rows(text, "path"), "path 1 ffffffff81000100 ffffffff81000200\npath 2 ffffffff81000300\n");
  EXPECT_EQ(Rows(text, "caller"),
            "caller 1000 0 8 ffffffff81000000 S 1 1\n"
            "caller 1000 0 8 ffffffff81000040 L 2 1\n"
            "caller 1000 0 8 ffffffff81000040 S 1 1\n");
}

TEST(Recording, LinesAreInOrder) {
  Simulation sim(2);
  for (const std::uint64_t address : {0x9000, 0x1000, 0x5000}) {
    sim.Store(0, address);
    sim.Store(1, address);
  }
  EXPECT_EQ(Rows(Write(sim), "line"), "line 1000 p 0 2 0\nline 5000 p 0 2 0\nline 9000 p 0 2 0\n");
}

TEST(Recording, AFullDeviceIsAnError) {
  Simulation sim(1);
  recording what{};
  what.sim = sim.get();
  what.low_space = 'u';
  const File full{std::fopen("/dev/full", "w"), std::fclose};
  EXPECT_EQ(recording_write(full.get(), &what), ENOSPC);
}

}  // namespace
}  // namespace linesmith
