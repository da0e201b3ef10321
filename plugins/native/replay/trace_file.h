// SPDX-License-Identifier: GPL-2.0-or-later
// Reads a trace once: what concerns some sets of objects, and the misses of all of it.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "coherence.h"
#include "outcome.h"
#include "scene.h"
#include "trace.h"
#include "trace_totals.h"

namespace linesmith::replay {

// The file cannot be read or is damaged; the message is one sentence for the user.
struct TraceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct TraceFile {
  std::vector<Scene> scenes;
  std::vector<Total> totals;
  std::vector<std::uint64_t> instructions;  // address by site
  Machine machine;
  trace_counts counts{};
};

// Reads the trace at `path`; one scene comes of each map, one total of each line size. `pulse` is called now
// and then, and may throw to end the reading. Throws TraceError, std::invalid_argument for a line size that
// is none, std::length_error, std::bad_alloc.
TraceFile ReadTrace(const std::string& path, std::vector<ObjectMap> maps,
                    const std::vector<std::uint32_t>& line_sizes, const std::function<void()>& pulse);

// Writes the totals for these line sizes behind the end of the trace at `path`, so that no reader has to
// count again. Throws what ReadTrace does.
void AppendTotals(const std::string& path, const std::vector<std::uint32_t>& line_sizes,
                  const std::function<void()>& pulse);

// The same of events in memory, in the order in which they happened; `instructions` are addresses by site.
TraceFile TraceOf(const std::vector<trace_event>& events, const Machine& machine,
                  std::vector<std::uint64_t> instructions, std::vector<ObjectMap> maps,
                  const std::vector<std::uint32_t>& line_sizes);

}  // namespace linesmith::replay
