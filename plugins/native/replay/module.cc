// SPDX-License-Identifier: GPL-2.0-or-later
// The Python module linesmith.tuner._replay (its interface: tuner/_replay.pyi).
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "course.h"
#include "outcome.h"
#include "replayed_scene.h"
#include "trace_file.h"

namespace nb = nanobind;

namespace linesmith::replay {
namespace {

using RowTuple = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t>;
using PieceTuple = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
using PlacementTuple = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;
using KindTuple =
    std::tuple<std::vector<PieceTuple>, std::int64_t, std::optional<PlacementTuple>, std::uint64_t>;
using CodeRange = std::tuple<std::uint64_t, std::uint64_t>;
using ShardingTuple =
    std::tuple<std::vector<PieceTuple>, std::uint64_t, std::vector<std::uint32_t>, std::vector<CodeRange>>;
using StepTuple =
    std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t, double, double, std::uint32_t>;
using TaskTuple =
    std::tuple<std::vector<std::uint32_t>, double, std::uint32_t, double, bool, std::vector<StepTuple>>;
using CountTuple = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;

// Lines that are replayed have one of the `line_sizes`.
std::vector<ObjectMap> MapsOf(const std::vector<std::vector<RowTuple>>& scenes,
                              const std::vector<std::uint32_t>& line_sizes) {
  const auto longest = std::max_element(line_sizes.begin(), line_sizes.end());
  std::vector<ObjectMap> maps;
  for (const std::vector<RowTuple>& tuples : scenes) {
    std::vector<ObjectRow> rows;
    for (const auto& [address, stride, count, kind] : tuples) rows.push_back({address, stride, count, kind});
    maps.emplace_back(std::move(rows), longest == line_sizes.end() ? ObjectMap::kLongestLine : *longest);
  }
  return maps;
}

KindPlan KindPlanOf(const KindTuple& tuple) {
  const auto& [pieces, tail, placement, shift] = tuple;
  KindPlan plan;
  for (const auto& [old_offset, size, new_offset] : pieces)
    plan.pieces.push_back({old_offset, size, new_offset});
  plan.tail = tail;
  plan.shift = shift;
  if (placement) {
    const auto& [stride, per_slab, slab_bytes, first] = *placement;
    plan.placement = {stride, per_slab, slab_bytes, first};
  }
  return plan;
}

Sharding ShardingOf(const ShardingTuple& tuple, const std::vector<std::uint64_t>& instructions) {
  const auto& [ranges, alignment, shard_of_cpu, code] = tuple;
  Sharding sharding;
  sharding.alignment = alignment;
  for (const auto& [kind, offset, size] : ranges) sharding.ranges.push_back({kind, offset, size});
  for (std::size_t cpu = 0; cpu < std::min(shard_of_cpu.size(), sharding.shard_of_cpu.size()); ++cpu) {
    sharding.shard_of_cpu[cpu] = shard_of_cpu[cpu];
    sharding.ways = std::max(sharding.ways, shard_of_cpu[cpu] + 1);
  }
  for (std::uint32_t site = 0; site < instructions.size(); ++site) {
    for (const auto& [begin, end] : code) {
      if (instructions[site] >= begin && instructions[site] < end) sharding.everywhere.insert(site);
    }
  }
  return sharding;
}

// A trace as it was read; scenes are numbered as the maps were given.
class Replayer {
 public:
  explicit Replayer(TraceFile trace) : trace_(std::make_unique<TraceFile>(std::move(trace))) {
    for (const Scene& scene : trace_->scenes)
      replayed_.push_back(std::make_unique<ReplayedScene>(scene, trace_->machine));
  }

  std::size_t Events(std::size_t scene) const {
    CheckScene(scene);
    return trace_->scenes[scene].events().size();
  }

  Outcome Run(std::size_t scene, const std::vector<KindTuple>& kinds, std::uint32_t line_bytes,
              std::uint32_t windows, const std::optional<ShardingTuple>& sharding) const {
    Plan plan;
    for (const KindTuple& kind : kinds) plan.kinds.push_back(KindPlanOf(kind));
    if (sharding) plan.sharding = ShardingOf(*sharding, trace_->instructions);
    CheckScene(scene);
    const nb::gil_scoped_release release;
    return replayed_[scene]->Under(plan, line_bytes, windows);
  }

  std::uint64_t Misses(std::size_t scene, const std::vector<KindTuple>& kinds,
                       std::uint32_t line_bytes) const {
    Plan plan;
    for (const KindTuple& kind : kinds) plan.kinds.push_back(KindPlanOf(kind));
    CheckScene(scene);
    const nb::gil_scoped_release release;
    return replayed_[scene]->MissesUnder(plan, line_bytes);
  }

  CountTuple Counts() const {
    return {trace_->counts.seen, trace_->counts.events, trace_->counts.slices, trace_->counts.dropped};
  }
  std::vector<unsigned> Nodes() const {
    const auto& nodes = trace_->machine.node_of_cpu;
    return {nodes.begin(), nodes.begin() + trace_->machine.cpus};
  }
  const std::vector<Total>& Totals() const { return trace_->totals; }

 private:
  void CheckScene(std::size_t number) const {
    if (number >= trace_->scenes.size()) throw nb::index_error("no scene has this number");
  }

  std::unique_ptr<TraceFile> trace_;
  std::vector<std::unique_ptr<ReplayedScene>> replayed_;  // by scene
};

// Lets an interrupt end the reading.
void HandleSignals() {
  const nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

Replayer OpenTrace(const std::string& path, const std::vector<std::vector<RowTuple>>& scenes,
                   const std::vector<std::uint32_t>& line_sizes) {
  std::vector<ObjectMap> maps = MapsOf(scenes, line_sizes);
  const nb::gil_scoped_release release;
  return Replayer(ReadTrace(path, std::move(maps), line_sizes, HandleSignals));
}

void AddTotals(const std::string& path, const std::vector<std::uint32_t>& line_sizes) {
  const nb::gil_scoped_release release;
  AppendTotals(path, line_sizes, HandleSignals);
}

Machine MachineOf(const std::vector<std::uint8_t>& nodes) {
  if (nodes.empty() || nodes.size() > COHERENCE_MAX_CPUS) throw nb::value_error("1 to 64 CPUs are possible");
  Machine machine;
  machine.cpus = static_cast<std::uint32_t>(nodes.size());
  std::copy(nodes.begin(), nodes.end(), machine.node_of_cpu.begin());
  return machine;
}

std::vector<Step> StepsOf(const std::vector<StepTuple>& tuples) {
  std::vector<Step> steps;
  for (const auto& [address, width, kind, site, often, gap, when] : tuples) {
    if (kind > COHERENCE_ATOMIC) throw nb::value_error("an access loads, stores or does both");
    if (when > static_cast<std::uint32_t>(When::kTurn)) throw nb::value_error("a turn has six parts");
    steps.push_back(
        {address, width, static_cast<coherence_kind>(kind), site, often, gap, static_cast<When>(when)});
  }
  return steps;
}

Task TaskOf(const TaskTuple& tuple) {
  const auto& [cpus, share, lock, hold, fair, steps] = tuple;
  Task task{0, share, lock, hold, fair, StepsOf(steps)};
  for (const std::uint32_t cpu : cpus) {
    if (cpu >= COHERENCE_MAX_CPUS) throw nb::value_error("1 to 64 CPUs are possible");
    task.cpus |= std::uint64_t{1} << cpu;
  }
  return task;
}

// A course in memory, and the machine that it ran on.
class MadeCourse {
 public:
  MadeCourse(const std::vector<std::uint8_t>& nodes, const std::vector<TaskTuple>& tuples, double handover,
             double ending, std::uint64_t accesses, std::uint64_t seed)
      : machine_(MachineOf(nodes)) {
    std::vector<Task> tasks;
    for (const TaskTuple& tuple : tuples) tasks.push_back(TaskOf(tuple));
    const nb::gil_scoped_release release;
    course_ = MakeCourse(machine_, tasks, handover, ending, accesses, seed);
  }

  const std::vector<coherence_events>& Counts() const { return course_.counts; }
  const std::vector<std::uint64_t>& Shadowed() const { return course_.shadowed; }
  const std::vector<std::uint64_t>& Shared() const { return course_.shared; }
  const std::vector<std::uint64_t>& Stored() const { return course_.stored; }

  Replayer Open(const std::vector<std::uint64_t>& instructions,
                const std::vector<std::vector<RowTuple>>& scenes,
                const std::vector<std::uint32_t>& line_sizes) const {
    std::vector<ObjectMap> maps = MapsOf(scenes, line_sizes);
    const nb::gil_scoped_release release;
    return Replayer(TraceOf(course_.events, machine_, instructions, std::move(maps), line_sizes));
  }

 private:
  Machine machine_;
  Course course_;
};

void BindCounts(nb::module_& module) {
  nb::class_<coherence_events>(module, "Events")
      .def_ro("hits", &coherence_events::hits)
      .def_ro("hitm_local", &coherence_events::hitm_local)
      .def_ro("hitm_remote", &coherence_events::hitm_remote)
      .def_ro("shared_miss", &coherence_events::shared_miss)
      .def_ro("cold_miss", &coherence_events::cold_miss)
      .def_ro("upgrade", &coherence_events::upgrade)
      .def_ro("own_local", &coherence_events::own_local)
      .def_ro("own_remote", &coherence_events::own_remote);
  nb::class_<Pair>(module, "Pair")
      .def_ro("victim_kind", &Pair::victim_kind)
      .def_ro("victim_offset", &Pair::victim_offset)
      .def_ro("writer_kind", &Pair::writer_kind)
      .def_ro("writer_offset", &Pair::writer_offset)
      .def_ro("true_sharing", &Pair::true_sharing)
      .def_ro("local", &Pair::local)
      .def_ro("remote", &Pair::remote);
  nb::class_<Outcome>(module, "Outcome")
      .def_ro("events", &Outcome::events)
      .def_ro("windows", &Outcome::windows)
      .def_ro("pairs", &Outcome::pairs);
  nb::class_<Total>(module, "Total")
      .def_ro("line_bytes", &Total::line_bytes)
      .def_ro("events", &Total::events)
      .def_ro("dropped", &Total::dropped);
}

}  // namespace
}  // namespace linesmith::replay

NB_MODULE(_replay, module) {
  using namespace nb::literals;
  using linesmith::replay::Replayer;
  nb::exception<linesmith::replay::TraceError>(module, "TraceError");
  linesmith::replay::BindCounts(module);
  nb::class_<Replayer>(module, "Replayer")
      .def("events", &Replayer::Events, "scene"_a)
      .def("run", &Replayer::Run, "scene"_a, "kinds"_a, "line_bytes"_a, "windows"_a,
           "sharding"_a = nb::none())
      .def("misses", &Replayer::Misses, "scene"_a, "kinds"_a, "line_bytes"_a)
      .def_prop_ro("counts", &Replayer::Counts)
      .def_prop_ro("nodes", &Replayer::Nodes)
      .def_prop_ro("totals", &Replayer::Totals);
  nb::class_<linesmith::replay::MadeCourse>(module, "Course")
      .def(nb::init<const std::vector<std::uint8_t>&, const std::vector<linesmith::replay::TaskTuple>&,
                    double, double, std::uint64_t, std::uint64_t>(),
           "nodes"_a, "tasks"_a, "handover"_a, "ending"_a, "accesses"_a, "seed"_a)
      .def_prop_ro("counts", &linesmith::replay::MadeCourse::Counts)
      .def_prop_ro("shadowed", &linesmith::replay::MadeCourse::Shadowed)
      .def_prop_ro("shared", &linesmith::replay::MadeCourse::Shared)
      .def_prop_ro("stored", &linesmith::replay::MadeCourse::Stored)
      .def("open", &linesmith::replay::MadeCourse::Open, "instructions"_a, "scenes"_a, "line_sizes"_a);
  module.def("open_trace", &linesmith::replay::OpenTrace, "path"_a, "scenes"_a, "line_sizes"_a);
  module.def("add_totals", &linesmith::replay::AddTotals, "path"_a, "line_sizes"_a);
}
