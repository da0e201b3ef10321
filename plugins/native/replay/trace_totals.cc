// SPDX-License-Identifier: GPL-2.0-or-later
// In 64-bit words of this machine: for each line size its bytes, the events and what was dropped, as often as
// the last but one word says; and a word with a magic and the checksum of all before it.
#include "trace_totals.h"

#include <zlib.h>

#include <cstring>

namespace linesmith::replay {
namespace {

using Words = std::vector<std::uint64_t>;

constexpr std::uint64_t kMagic = std::uint64_t{0x4c544f54} << 32;  // "TOTL"
constexpr std::size_t kEvents = sizeof(coherence_events) / sizeof(std::uint64_t);
constexpr std::size_t kWords = kEvents + 2;  // of a total
constexpr std::uint64_t kMost = 3;           // line sizes that there are
static_assert(kEvents * sizeof(std::uint64_t) == sizeof(coherence_events));

std::uint64_t Seal(const Words& words) {
  const auto* bytes = reinterpret_cast<const Bytef*>(words.data());
  return kMagic | crc32(0, bytes, static_cast<uInt>(words.size() * sizeof(std::uint64_t)));
}

// The last words of the file; none where it has not so many.
Words LastWords(std::FILE* file, std::size_t count) {
  Words words(count);
  const std::size_t bytes = count * sizeof(std::uint64_t);
  if (std::fseek(file, -static_cast<long>(bytes), SEEK_END) != 0) return {};
  return std::fread(words.data(), 1, bytes, file) == bytes ? words : Words{};
}

std::vector<Total> LastTotals(std::FILE* file) {
  const Words end = LastWords(file, 2);
  if (end.empty() || end[0] == 0 || end[0] > kMost) return {};
  Words words = LastWords(file, end[0] * kWords + 2);
  if (words.empty()) return {};
  const std::uint64_t seal = words.back();
  words.pop_back();
  if (seal != Seal(words)) return {};
  std::vector<Total> totals(end[0]);
  for (std::size_t number = 0; number < totals.size(); ++number) {
    const std::uint64_t* from = &words[number * kWords];
    totals[number].line_bytes = static_cast<std::uint32_t>(from[0]);
    std::memcpy(&totals[number].events, from + 1, sizeof(coherence_events));
    totals[number].dropped = from[kWords - 1];
  }
  return totals;
}

}  // namespace

std::vector<Total> TotalsBehind(std::FILE* trace) {
  std::vector<Total> totals = LastTotals(trace);
  std::rewind(trace);
  return totals;
}

void WriteTotals(std::FILE* trace, const std::vector<Total>& totals) {
  Words words;
  for (const Total& total : totals) {
    words.push_back(total.line_bytes);
    words.resize(words.size() + kEvents);
    std::memcpy(&words[words.size() - kEvents], &total.events, sizeof(coherence_events));
    words.push_back(total.dropped);
  }
  words.push_back(totals.size());
  words.push_back(Seal(words));
  std::fwrite(words.data(), sizeof(std::uint64_t), words.size(), trace);
}

}  // namespace linesmith::replay
