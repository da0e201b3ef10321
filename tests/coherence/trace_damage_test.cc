// SPDX-License-Identifier: GPL-2.0-or-later
// Traces that are cut off, changed, or no traces: the reader says so and goes on living.
#include <gtest/gtest.h>

#include "trace_file.h"

namespace linesmith {
namespace {

std::string SmallTrace() {
  TraceWriter writer(2);
  for (std::uint32_t step = 0; step < 8; ++step) {
    writer.Slice(step / 4);
    writer.Store(0x1000 + step * 24, step + 1, step * step);
  }
  return writer.Finish({0x10, 0x20});
}

TEST(TraceDamage, NothingIsNoTrace) {
  EXPECT_EQ(ReadTrace("").problem, "the trace is cut off after 0 events");
}

TEST(TraceDamage, TextIsNoTrace) {
  EXPECT_EQ(ReadTrace("linesmith-recording 1\n").problem, "this is not a trace");
}

TEST(TraceDamage, EveryCutIsNoticed) {
  const std::string whole = SmallTrace();
  ASSERT_EQ(ReadTrace(whole).status, TRACE_END);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(ReadTrace(whole.substr(0, size)).status, TRACE_DAMAGED)
        << size << " of " << whole.size() << " bytes";
  }
}

TEST(TraceDamage, EventsBeforeTheCutAreRead) {
  const std::string whole = SmallTrace();
  const TraceContents contents = ReadTrace(whole.substr(0, whole.size() - 1));
  EXPECT_EQ(contents.events.size(), 8U);
  EXPECT_EQ(contents.problem, "the trace is cut off after 8 events");
  EXPECT_TRUE(contents.ips.empty());
}

TEST(TraceDamage, EveryFlippedBitIsNoticed) {
  const std::string whole = SmallTrace();
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    EXPECT_EQ(ReadTrace(flipped).status, TRACE_DAMAGED) << "bit " << bit % 8 << " of byte " << bit / 8;
  }
}

TEST(TraceDamage, WhatIsReadAfterDamageIsDamage) {
  const File file = FileOf("LSMTRACE");
  trace_reader* reader = trace_reader_create(file.get());
  trace_event event;
  EXPECT_EQ(trace_problem(reader), nullptr);
  EXPECT_EQ(trace_next(reader, &event), TRACE_DAMAGED);
  EXPECT_EQ(trace_next(reader, &event), TRACE_DAMAGED);
  trace_reader_destroy(reader);
}

}  // namespace
}  // namespace linesmith
