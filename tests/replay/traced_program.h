// SPDX-License-Identifier: GPL-2.0-or-later
// Programs made of accesses to objects, recorded as traces and simulated directly: what a replay must agree
// with.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coherence.h"
#include "outcome.h"
#include "replayed_scene.h"
#include "trace.h"
#include "trace_file.h"

namespace linesmith::replay {

struct Step {
  std::uint32_t cpu = 0;
  std::uint32_t object = 0;
  std::uint32_t offset = 0;
  std::uint32_t width = 8;
  coherence_kind kind = COHERENCE_LOAD;
};

// A scene replayed alone, with nothing known of its lines before.
inline Outcome Simulate(const Scene& scene, const Machine& machine, const Plan& plan,
                        std::uint32_t line_bytes, std::uint32_t windows) {
  return ReplayedScene(scene, machine).Under(plan, line_bytes, windows);
}

// Steps by slice; every slice is one CPU's.
using Program = std::vector<std::vector<Step>>;

// Where a byte of an object is.
using Place = std::function<std::uint64_t(std::uint32_t object, std::uint32_t offset)>;

inline Step Load(std::uint32_t cpu, std::uint32_t offset, std::uint32_t object = 0) {
  return {cpu, object, offset, 8, COHERENCE_LOAD};
}
inline Step Store(std::uint32_t cpu, std::uint32_t offset, std::uint32_t object = 0) {
  return {cpu, object, offset, 8, COHERENCE_STORE};
}

// Turns of one step each, `rounds` times over.
inline Program Turns(const std::vector<Step>& steps, std::size_t rounds) {
  Program program;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const Step& step : steps) program.push_back({step});
  }
  return program;
}

constexpr std::uint64_t kCode = 0x1000;  // address of site 0; each site is 16 bytes

// A trace of the program in a file of its own, which goes when this does. The site of a step is its offset.
class TracedProgram {
 public:
  TracedProgram(const Program& program, const Place& place, std::uint32_t cpus,
                const std::vector<std::uint8_t>& nodes = {}, std::uint64_t most_bytes = 1 << 30)
      : path_((std::filesystem::temp_directory_path() / ("linesmith-trace-" + std::to_string(getpid())))
                  .string()) {
    std::FILE* file = std::fopen(path_.c_str(), "wb");
    trace_settings settings{};
    settings.cpus = cpus;
    for (std::size_t cpu = 0; cpu < nodes.size(); ++cpu) settings.node_of_cpu[cpu] = nodes[cpu];
    trace_writer* writer = trace_writer_create(file, &settings, most_bytes);
    for (const std::vector<Step>& slice : program) {
      trace_slice(writer, slice.front().cpu);
      for (const Step& step : slice) {
        trace_access(writer, place(step.object, step.offset), step.width, step.kind, step.offset);
      }
    }
    std::vector<std::uint64_t> instructions;
    for (std::uint64_t site = 0; site < 1024; ++site) instructions.push_back(kCode + 16 * site);
    trace_writer_finish(writer, instructions.data(), static_cast<std::uint32_t>(instructions.size()));
    std::fclose(file);
  }
  ~TracedProgram() { std::filesystem::remove(path_); }
  TracedProgram(const TracedProgram&) = delete;
  TracedProgram& operator=(const TracedProgram&) = delete;

  const std::string& path() const { return path_; }

  TraceFile Read(const std::vector<ObjectRow>& rows,
                 const std::vector<std::uint32_t>& line_sizes = {64}) const {
    std::vector<ObjectMap> maps;
    maps.emplace_back(rows);
    return ReadTrace(path_, std::move(maps), line_sizes, [] {});
  }

 private:
  std::string path_;
};

struct DestroySimulation {
  void operator()(coherence* sim) const { coherence_destroy(sim); }
};
using Simulation = std::unique_ptr<coherence, DestroySimulation>;

// The program with its bytes at `place`, simulated without any trace; bytes of a step that part are accesses
// of their own.
inline Simulation SimulateDirectly(const Program& program, const Place& place, const Machine& machine,
                                   std::uint32_t line_bytes) {
  coherence_config config = coherence_default_config(machine.cpus);
  config.line_bytes = line_bytes;
  std::copy(machine.node_of_cpu.begin(), machine.node_of_cpu.end(), config.node_of_cpu);
  Simulation sim(coherence_create(&config));
  for (const std::vector<Step>& slice : program) {
    for (const Step& step : slice) {
      for (std::uint32_t first = 0, next = 1; first < step.width; first = next) {
        const std::uint64_t begin = place(step.object, step.offset + first);
        next = first + 1;
        while (next < step.width && place(step.object, step.offset + next) == begin + next - first) ++next;
        coherence_access(sim.get(), step.cpu, begin, next - first, step.kind, step.offset);
      }
    }
  }
  return sim;
}

}  // namespace linesmith::replay
