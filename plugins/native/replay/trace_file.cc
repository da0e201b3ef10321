// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "directory.h"

namespace linesmith::replay {
namespace {

constexpr std::uint64_t kTracedLines = std::uint64_t{1} << 22;
constexpr std::uint64_t kEventsPerPulse = std::uint64_t{1} << 20;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
struct DestroyReader {
  void operator()(trace_reader* reader) const { trace_reader_destroy(reader); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;
using Reader = std::unique_ptr<trace_reader, DestroyReader>;

File Open(const std::string& path) {
  File file(std::fopen(path.c_str(), "rbe"));
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

std::vector<Directory> Directories(const Machine& machine, const std::vector<std::uint32_t>& line_sizes) {
  std::vector<Directory> directories;
  for (const std::uint32_t line_bytes : line_sizes) {
    directories.push_back(
        MakeDirectory(machine, {.line_bytes = line_bytes, .lines = kTracedLines, .pairs = 0}));
  }
  return directories;
}

void Feed(const trace_event& event, std::vector<Scene>& scenes, const std::vector<Directory>& directories) {
  for (const Directory& directory : directories) {
    coherence_access(directory.get(), event.cpu, event.address, event.width, event.kind, event.site);
  }
  for (Scene& scene : scenes) scene.Add(event);
}

Total TotalOf(const Directory& directory) {
  const coherence_counts counts = coherence_count(directory.get());
  return {coherence_configuration(directory.get())->line_bytes, counts.events, counts.dropped_lines};
}

}  // namespace

TraceFile ReadTrace(const std::string& path, std::vector<ObjectMap> maps,
                    const std::vector<std::uint32_t>& line_sizes, const std::function<void()>& pulse) {
  TraceFile trace;
  for (ObjectMap& map : maps) trace.scenes.emplace_back(std::move(map));
  const File file = Open(path);
  const Reader reader(trace_reader_create(file.get()));
  if (!reader) throw std::bad_alloc();
  trace_event event{};
  trace_status status = trace_next(reader.get(), &event);
  if (status != TRACE_DAMAGED) trace.machine = MachineOf(reader.get());
  const std::vector<Directory> directories = Directories(trace.machine, line_sizes);
  for (std::uint64_t read = 1; status == TRACE_EVENT; ++read) {
    Feed(event, trace.scenes, directories);
    if (read % kEventsPerPulse == 0) pulse();
    status = trace_next(reader.get(), &event);
  }
  if (status == TRACE_DAMAGED) {
    throw TraceError(path + " is no whole trace: " + trace_problem(reader.get()) +
                     "; record it again with --trace");
  }
  for (const Directory& directory : directories) trace.totals.push_back(TotalOf(directory));
  std::uint32_t sites = 0;
  const std::uint64_t* instructions = trace_reader_ips(reader.get(), &sites);
  trace.instructions.assign(instructions, instructions + sites);
  trace.counts = trace_reader_counts(reader.get());
  trace.machine.slices = static_cast<std::uint32_t>(trace.counts.slices);
  return trace;
}

}  // namespace linesmith::replay
