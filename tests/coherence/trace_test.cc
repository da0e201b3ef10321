// SPDX-License-Identifier: GPL-2.0-or-later
// What a trace keeps and what it leaves out, and that it comes back as it was written.
#include <gtest/gtest.h>

#include "trace_file.h"

namespace linesmith {
namespace {

using Lines = std::vector<std::string>;

Lines EventsOf(TraceWriter& writer) { return Spell(ReadTrace(writer.Finish()).events); }

TEST(Trace, EveryKindComesBack) {
  TraceWriter writer(2);
  writer.Slice(1);
  writer.Load(0xffff888000001000, 8, 7);
  writer.Store(0xffff888000000ff0, 4, 1000000);
  writer.Atomic(0x10, 1, 8);
  EXPECT_EQ(EventsOf(writer),
            (Lines{"L 1 ffff888000001000+8 @7 #0", "S 1 ffff888000000ff0+4 @1000000 #0", "A 1 10+1 @8 #0"}));
}

TEST(Trace, AnyWidthComesBack) {
  TraceWriter writer(1);
  for (std::uint32_t width = 1; width <= COHERENCE_MAX_WIDTH; ++width) writer.Load(0x1000 * width, width);
  const TraceContents contents = ReadTrace(writer.Finish());
  ASSERT_EQ(contents.events.size(), 255U);
  for (std::uint32_t width = 1; width <= COHERENCE_MAX_WIDTH; ++width)
    EXPECT_EQ(contents.events[width - 1].width, width);
}

TEST(Trace, ExtremesComeBack) {
  TraceWriter writer(64);
  writer.Slice(63);
  writer.Load(UINT64_MAX, 1, UINT32_MAX);
  writer.Load(0, 1, 0);
  writer.Load(UINT64_MAX / 2 + 1, 1, UINT32_MAX);
  EXPECT_EQ(EventsOf(writer), (Lines{"L 63 ffffffffffffffff+1 @4294967295 #0", "L 63 0+1 @0 #0",
                                     "L 63 8000000000000000+1 @4294967295 #0"}));
}

TEST(Trace, SettingsSitesAndCountsComeBack) {
  TraceWriter writer(3);
  writer.Load(0x1000);
  writer.Load(0x1000);
  const TraceContents contents = ReadTrace(writer.Finish({0xffffffff81000000, 0xffffffff81000010, 0x40}));
  EXPECT_EQ(contents.status, TRACE_END);
  EXPECT_EQ(contents.settings.cpus, 3U);
  EXPECT_EQ(contents.settings.node_of_cpu[1], 1U);
  EXPECT_EQ(contents.ips, (std::vector<std::uint64_t>{0xffffffff81000000, 0xffffffff81000010, 0x40}));
  EXPECT_EQ(contents.counts.seen, 2U);
  EXPECT_EQ(contents.counts.events, 1U);
  EXPECT_EQ(contents.counts.slices, 1U);
  EXPECT_EQ(contents.counts.dropped, 0U);
}

TEST(Trace, AnEmptyTraceIsWhole) {
  TraceWriter writer(1);
  const TraceContents contents = ReadTrace(writer.Finish());
  EXPECT_EQ(contents.status, TRACE_END);
  EXPECT_TRUE(contents.events.empty());
}

TEST(Trace, ManyBlocksComeBack) {
  TraceWriter writer(4);
  for (std::uint32_t step = 0; step < 300000; ++step) {
    if (step % 1000 == 0) writer.Slice(step / 1000 % 4);
    writer.Load(0x1000 + std::uint64_t{step} * 0x12340, 8, step * 77);
  }
  const TraceContents contents = ReadTrace(writer.Finish(std::vector<std::uint64_t>(100000, 0x7777777777)));
  ASSERT_EQ(contents.status, TRACE_END) << contents.problem;
  ASSERT_EQ(contents.events.size(), 300000U);
  for (std::uint32_t step = 0; step < 300000; step += 997) {
    EXPECT_EQ(contents.events[step].address, 0x1000 + std::uint64_t{step} * 0x12340);
    EXPECT_EQ(contents.events[step].site, step * 77);
    EXPECT_EQ(contents.events[step].slice, step / 1000);
    EXPECT_EQ(contents.events[step].cpu, step / 1000 % 4);
  }
  EXPECT_EQ(contents.ips.size(), 100000U);
}

TEST(Trace, RepeatsOfASliceAreLeftOut) {
  TraceWriter writer(1);
  for (int round = 0; round < 100; ++round) writer.Load(0x1000, 8, round);
  EXPECT_EQ(EventsOf(writer), (Lines{"L 0 1000+8 @0 #0"}));
}

TEST(Trace, AStoreAfterALoadIsKept) {
  TraceWriter writer(1);
  writer.Load(0x1000);
  writer.Store(0x1000);
  writer.Atomic(0x1000);
  EXPECT_EQ(EventsOf(writer), (Lines{"L 0 1000+8 @0 #0", "S 0 1000+8 @0 #0"}));
}

TEST(Trace, ALoadAfterAStoreIsNot) {
  TraceWriter writer(1);
  writer.Store(0x1000);
  writer.Load(0x1004, 2);
  EXPECT_EQ(EventsOf(writer), (Lines{"S 0 1000+8 @0 #0"}));
}

TEST(Trace, TheOtherHalfOfAWordIsKept) {
  TraceWriter writer(1);
  writer.Load(0x1000, 4);
  writer.Load(0x1004, 4);
  writer.Load(0x1000, 8);
  EXPECT_EQ(EventsOf(writer), (Lines{"L 0 1000+4 @0 #0", "L 0 1004+4 @0 #0"}))
      << "a layout may put the two on different lines";
}

TEST(Trace, AnAccessWithOneNewByteIsKept) {
  TraceWriter writer(1);
  writer.Load(0x1000, 8);
  writer.Load(0x1001, 8);
  EXPECT_EQ(EventsOf(writer), (Lines{"L 0 1000+8 @0 #0", "L 0 1001+8 @0 #0"}));
}

TEST(Trace, TheNextSliceBeginsAnew) {
  TraceWriter writer(2);
  writer.Slice(0);
  writer.Load(0x1000);
  writer.Slice(1);
  writer.Load(0x1000);
  writer.Slice(0);
  writer.Load(0x1000);
  EXPECT_EQ(EventsOf(writer), (Lines{"L 0 1000+8 @0 #0", "L 1 1000+8 @0 #1", "L 0 1000+8 @0 #2"}));
}

TEST(Trace, SlicesOfOneCpuInARowAreOne) {
  TraceWriter writer(2);
  writer.Slice(1);
  writer.Load(0x1000);
  writer.Slice(0);
  writer.Slice(1);
  writer.Load(0x1000);
  EXPECT_EQ(EventsOf(writer), (Lines{"L 1 1000+8 @0 #0"})) << "CPU 0 did nothing in between";
}

// Steps that zlib cannot shorten.
std::uint64_t Scattered(std::uint64_t step) { return (step * step * 0x9e3779b97f4a7c15) >> 8; }

TEST(Trace, AFullFileHoldsTheBeginning) {
  constexpr std::uint64_t kAccesses = 400000;
  TraceWriter writer(1, 1 << 20);
  for (std::uint64_t step = 0; step < kAccesses; ++step) writer.Load(Scattered(step));
  const std::string bytes = writer.Finish();
  EXPECT_LE(bytes.size(), (1U << 20) + 100U);
  const TraceContents contents = ReadTrace(bytes);
  ASSERT_EQ(contents.status, TRACE_END) << contents.problem;
  EXPECT_EQ(contents.counts.events, contents.events.size());
  EXPECT_EQ(contents.counts.events + contents.counts.dropped, kAccesses);
  EXPECT_GT(contents.counts.dropped, 0U);
  for (std::uint64_t step = 0; step < contents.events.size(); ++step)
    ASSERT_EQ(contents.events[step].address, Scattered(step));
}

TEST(Trace, AFullDeviceIsAnError) {
  const File full{std::fopen("/dev/full", "w"), std::fclose};
  trace_settings settings{};
  settings.cpus = 1;
  trace_writer* writer = trace_writer_create(full.get(), &settings, UINT64_MAX);
  EXPECT_EQ(trace_writer_finish(writer, nullptr, 0), ENOSPC);
}

}  // namespace
}  // namespace linesmith
