// SPDX-License-Identifier: GPL-2.0-or-later
// Traces that are not whole.
#include <gtest/gtest.h>

#include <fstream>

#include "traced_program.h"

namespace linesmith::replay {
namespace {

std::uint64_t Anywhere(std::uint32_t, std::uint32_t offset) { return 0x10000 + offset; }

std::string Refusal(const std::string& path) {
  try {
    ReadTrace(path, {}, {64}, [] {});
  } catch (const TraceError& error) {
    return error.what();
  }
  return "";
}

TEST(TraceFile, EveryCutIsToldInOneSentence) {
  const TracedProgram traced(Turns({Store(0, 0), Load(1, 8)}, 50), Anywhere, 2);
  const auto size = static_cast<std::uint64_t>(std::filesystem::file_size(traced.path()));
  for (std::uint64_t cut = size; cut-- > 0;) {
    std::filesystem::resize_file(traced.path(), cut);
    EXPECT_NE(Refusal(traced.path()).find("record it again"), std::string::npos) << cut;
  }
}

TEST(TraceFile, AnyByteChangedIsToldOrReadAlike) {
  const TracedProgram traced(Turns({Store(0, 0), Load(1, 8)}, 50), Anywhere, 2);
  const auto size = static_cast<std::uint64_t>(std::filesystem::file_size(traced.path()));
  std::size_t refused = 0;
  for (std::uint64_t place = 0; place < size; ++place) {
    std::fstream file(traced.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(place));
    const char byte = static_cast<char>(file.get());
    file.seekp(static_cast<std::streamoff>(place));
    file.put(static_cast<char>(byte ^ 0x40));
    file.close();
    refused += Refusal(traced.path()).empty() ? 0 : 1;
    std::ofstream(traced.path(), std::ios::in | std::ios::out | std::ios::binary)
        .seekp(static_cast<std::streamoff>(place))
        .put(byte);
  }
  EXPECT_GT(refused, size / 2);
  EXPECT_EQ(Refusal(traced.path()), "");
}

TEST(TraceFile, AFileThatIsNotThereIsTold) {
  EXPECT_NE(Refusal("/no/such/trace").find("cannot be opened"), std::string::npos);
}

TEST(TraceFile, TotalsBehindTheEndAreThoseThatWereCounted) {
  const TracedProgram traced(Turns({Store(0, 0), Load(1, 8)}, 50), Anywhere, 2);
  const std::vector<Total> counted = ReadTrace(traced.path(), {}, {64, 128}, [] {}).totals;
  const auto size = std::filesystem::file_size(traced.path());
  AppendTotals(traced.path(), {64, 128}, [] {});
  const auto check = [&](const std::vector<std::uint32_t>& sizes, std::size_t number) {
    const TraceFile trace = ReadTrace(traced.path(), {}, sizes, [] {});
    EXPECT_EQ(trace.totals.back().line_bytes, counted[number].line_bytes);
    EXPECT_EQ(SharedMisses(trace.totals.back().events), SharedMisses(counted[number].events));
    EXPECT_EQ(trace.counts.events, 100u);
  };
  check({64}, 0);
  check({64, 128}, 1);
  // What is cut off is counted again.
  std::filesystem::resize_file(traced.path(), std::filesystem::file_size(traced.path()) - 1);
  check({64, 128}, 1);
  std::filesystem::resize_file(traced.path(), size);
  check({128}, 1);
}

TEST(TraceFile, WhatNoLongerFittedIsCounted) {
  const TracedProgram traced(Turns({Store(0, 0), Load(1, 8)}, 100000), Anywhere, 2, {}, 1000);
  EXPECT_GT(ReadTrace(traced.path(), {}, {64}, [] {}).counts.dropped, 0u);
}

}  // namespace
}  // namespace linesmith::replay
