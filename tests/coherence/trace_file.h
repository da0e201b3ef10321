// SPDX-License-Identifier: GPL-2.0-or-later
// Traces in temporary files, written and read as the tests say it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "trace.h"

namespace linesmith {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

inline File TemporaryFile() { return {std::tmpfile(), std::fclose}; }

inline File FileOf(const std::string& bytes) {
  File file = TemporaryFile();
  std::fwrite(bytes.data(), 1, bytes.size(), file.get());
  std::rewind(file.get());
  return file;
}

inline std::string BytesOf(std::FILE* file) {
  std::string bytes(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  EXPECT_EQ(std::fread(bytes.data(), 1, bytes.size(), file), bytes.size());
  return bytes;
}

class TraceWriter {
 public:
  explicit TraceWriter(std::uint32_t cpus, std::uint64_t max_bytes = UINT64_MAX) : file_(TemporaryFile()) {
    trace_settings settings{};
    settings.cpus = cpus;
    for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) settings.node_of_cpu[cpu] = cpu % 2;
    writer_ = trace_writer_create(file_.get(), &settings, max_bytes);
  }

  void Slice(std::uint32_t cpu) { trace_slice(writer_, cpu); }
  void Load(std::uint64_t address, std::uint32_t width = 8, std::uint32_t site = 0) {
    trace_access(writer_, address, width, COHERENCE_LOAD, site);
  }
  void Store(std::uint64_t address, std::uint32_t width = 8, std::uint32_t site = 0) {
    trace_access(writer_, address, width, COHERENCE_STORE, site);
  }
  void Atomic(std::uint64_t address, std::uint32_t width = 8, std::uint32_t site = 0) {
    trace_access(writer_, address, width, COHERENCE_ATOMIC, site);
  }

  // The whole file; the writer is gone afterwards.
  std::string Finish(const std::vector<std::uint64_t>& ips = {}) {
    EXPECT_EQ(trace_writer_finish(writer_, ips.data(), static_cast<std::uint32_t>(ips.size())), 0);
    return BytesOf(file_.get());
  }

 private:
  File file_;
  trace_writer* writer_;
};

struct TraceContents {
  trace_status status;  // of the last read
  std::string problem;  // when it is TRACE_DAMAGED
  trace_settings settings;
  std::vector<trace_event> events;
  std::vector<std::uint64_t> ips;
  trace_counts counts;
};

inline TraceContents ReadTrace(const std::string& bytes) {
  const File file = FileOf(bytes);
  trace_reader* reader = trace_reader_create(file.get());
  TraceContents contents{};
  trace_event event;
  while ((contents.status = trace_next(reader, &event)) == TRACE_EVENT) contents.events.push_back(event);
  if (contents.status == TRACE_DAMAGED) contents.problem = trace_problem(reader);
  contents.settings = *trace_reader_settings(reader);
  contents.counts = trace_reader_counts(reader);
  std::uint32_t sites;
  const std::uint64_t* ips = trace_reader_ips(reader, &sites);
  contents.ips.assign(ips, ips + sites);
  trace_reader_destroy(reader);
  return contents;
}

// "S 1 1000+8 @5 #2": kind, CPU, address and width, site, slice.
inline std::string Spell(const trace_event& event) {
  char text[120];
  std::snprintf(text, sizeof text, "%c %u %llx+%u @%u #%u", "LSA"[event.kind], event.cpu,
                static_cast<unsigned long long>(event.address), event.width, event.site, event.slice);
  return text;
}

inline std::vector<std::string> Spell(const std::vector<trace_event>& events) {
  std::vector<std::string> texts;
  for (const trace_event& event : events) texts.push_back(Spell(event));
  return texts;
}

}  // namespace linesmith
