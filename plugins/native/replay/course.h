// SPDX-License-Identifier: GPL-2.0-or-later
// A run made up of tasks that CPUs repeat: its accesses, and what each costs in the layout as it is.
#pragma once

#include <cstdint>
#include <vector>

#include "coherence.h"
#include "machine.h"
#include "trace.h"

namespace linesmith::replay {

// An access that a task makes `often` times in a turn on average; `site` numbers who makes it where.
struct Step {
  std::uint64_t address = 0;
  std::uint32_t width = 1;
  coherence_kind kind = COHERENCE_LOAD;
  std::uint32_t site = 0;
  double often = 1;
};

// What the CPUs with a bit in `cpus` do, a turn at a time, `share` weighing it against all other tasks. Turns
// of tasks with the same `lock` exclude each other; who has to wait for one does `waits` meanwhile. 0: no
// lock.
struct Task {
  std::uint64_t cpus = 0;
  double share = 1;
  std::uint32_t lock = 0;
  std::vector<Step> does;
  std::vector<Step> waits;
};

struct Course {
  std::vector<trace_event> events;
  std::vector<coherence_events> counts;  // by site, at lines of 64 bytes; an access counts where it begins
  // By site, accesses to bytes that the CPU had not used since another access of it fetched the line.
  std::vector<std::uint64_t> shadowed;
};

// `accesses` accesses of the tasks, interleaved: another CPU goes on with the probability `handover` after
// each, and with `ending` after the last of a turn. Tasks and seed decide everything. Throws
// std::invalid_argument for tasks that no CPU can do.
Course MakeCourse(const Machine& machine, const std::vector<Task>& tasks, double handover, double ending,
                  std::uint64_t accesses, std::uint64_t seed);

}  // namespace linesmith::replay
