// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "line_totals.h"

namespace linesmith::replay {
namespace {

constexpr std::uint64_t kEventsPerPulse = std::uint64_t{1} << 20;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
struct DestroyReader {
  void operator()(trace_reader* reader) const { trace_reader_destroy(reader); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;
using Reader = std::unique_ptr<trace_reader, DestroyReader>;

File Open(const std::string& path, const char* mode = "rbe") {
  File file(std::fopen(path.c_str(), mode));
  if (!file) throw TraceError(path + " cannot be opened: " + std::strerror(errno));
  return file;
}

Machine MachineOf(const trace_reader* reader) {
  const trace_settings& settings = *trace_reader_settings(reader);
  Machine machine;
  machine.cpus = settings.cpus;
  std::copy(std::begin(settings.node_of_cpu), std::end(settings.node_of_cpu), machine.node_of_cpu.begin());
  return machine;
}

// Pages of all scenes, so that most events are passed over by one look.
std::vector<bool> PagesOf(const std::vector<Scene>& scenes) {
  std::vector<bool> pages(ObjectMap::kPageBits);
  for (const Scene& scene : scenes) scene.objects().AddPages(pages);
  return pages;
}

void Feed(const trace_event& event, const std::vector<bool>& pages, std::vector<Scene>& scenes,
          std::vector<LineTotals>& totals) {
  for (LineTotals& total : totals)
    total.Access(event.cpu, event.address, event.width, event.kind != COHERENCE_LOAD);
  if (ObjectMap::MayHold(pages, event.address, event.width))
    for (Scene& scene : scenes) scene.Add(event);
}

// The known totals for these line sizes; none where one of them is not known.
std::vector<Total> Chosen(const std::vector<Total>& known, const std::vector<std::uint32_t>& line_sizes) {
  std::vector<Total> chosen;
  for (const std::uint32_t line_bytes : line_sizes) {
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const Total& total) { return total.line_bytes == line_bytes; });
    if (found == known.end()) return {};
    chosen.push_back(*found);
  }
  return chosen;
}

std::vector<LineTotals> TotalsOf(const Machine& machine, const std::vector<std::uint32_t>& line_sizes) {
  std::vector<LineTotals> totals;
  for (const std::uint32_t line_bytes : line_sizes) totals.emplace_back(machine, line_bytes);
  return totals;
}

std::vector<Total> Summed(const std::vector<LineTotals>& totals) {
  std::vector<Total> sums;
  for (const LineTotals& total : totals)
    sums.push_back({total.line_bytes(), total.events(), total.dropped()});
  return sums;
}

}  // namespace

TraceFile ReadTrace(const std::string& path, std::vector<ObjectMap> maps,
                    const std::vector<std::uint32_t>& line_sizes, const std::function<void()>& pulse) {
  TraceFile trace;
  for (ObjectMap& map : maps) trace.scenes.emplace_back(std::move(map));
  const File file = Open(path);
  trace.totals = Chosen(TotalsBehind(file.get()), line_sizes);
  const Reader reader(trace_reader_create(file.get()));
  if (!reader) throw std::bad_alloc();
  trace_event event{};
  trace_status status = trace_next(reader.get(), &event);
  if (status != TRACE_DAMAGED) trace.machine = MachineOf(reader.get());
  std::vector<LineTotals> totals;
  if (trace.totals.empty()) totals = TotalsOf(trace.machine, line_sizes);
  const std::vector<bool> pages = PagesOf(trace.scenes);
  for (std::uint64_t read = 1; status == TRACE_EVENT; ++read) {
    Feed(event, pages, trace.scenes, totals);
    if (read % kEventsPerPulse == 0) pulse();
    status = trace_next(reader.get(), &event);
  }
  if (status == TRACE_DAMAGED) {
    throw TraceError(path + " is no whole trace: " + trace_problem(reader.get()) + "; record it again");
  }
  for (Scene& scene : trace.scenes) scene.Order();
  if (trace.totals.empty()) trace.totals = Summed(totals);
  std::uint32_t sites = 0;
  const std::uint64_t* instructions = trace_reader_ips(reader.get(), &sites);
  trace.instructions.assign(instructions, instructions + sites);
  trace.counts = trace_reader_counts(reader.get());
  trace.machine.slices = static_cast<std::uint32_t>(trace.counts.slices);
  return trace;
}

void AppendTotals(const std::string& path, const std::vector<std::uint32_t>& line_sizes,
                  const std::function<void()>& pulse) {
  const std::vector<Total> totals = ReadTrace(path, {}, line_sizes, pulse).totals;
  const File file = Open(path, "abe");
  WriteTotals(file.get(), totals);
  if (std::fflush(file.get()) != 0) throw TraceError(path + " cannot be written: " + std::strerror(errno));
}

TraceFile TraceOf(const std::vector<trace_event>& events, const Machine& machine,
                  std::vector<std::uint64_t> instructions, std::vector<ObjectMap> maps,
                  const std::vector<std::uint32_t>& line_sizes) {
  TraceFile trace;
  for (ObjectMap& map : maps) trace.scenes.emplace_back(std::move(map));
  trace.machine = machine;
  trace.instructions = std::move(instructions);
  trace.counts = {.seen = events.size(),
                  .events = events.size(),
                  .slices = events.empty() ? 0u : std::uint64_t{events.back().slice} + 1,
                  .dropped = 0,
                  .bytes = 0};
  trace.machine.slices = static_cast<std::uint32_t>(trace.counts.slices);
  std::vector<LineTotals> totals = TotalsOf(machine, line_sizes);
  const std::vector<bool> pages = PagesOf(trace.scenes);
  for (const trace_event& event : events) Feed(event, pages, trace.scenes, totals);
  for (Scene& scene : trace.scenes) scene.Order();
  trace.totals = Summed(totals);
  return trace;
}

}  // namespace linesmith::replay
