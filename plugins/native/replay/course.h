// SPDX-License-Identifier: GPL-2.0-or-later
// A run made up of tasks that CPUs repeat: its accesses, and what each costs in the layout as it is.
#pragma once

#include <cstdint>
#include <vector>

#include "coherence.h"
#include "machine.h"
#include "trace.h"

namespace linesmith::replay {

// When in a turn an access is made. A turn under a lock comes to it (`kTry`); if it is free, it is the CPU's
// at once (`kFree`), else the CPU queues up (`kQueue`), looks at the lock over and over as the first of those
// who wait (`kSpin`) and gets it in the end (`kTurn`). Then comes what the lock is for, and its release
// (`kDo`).
enum class When : std::uint8_t { kDo, kTry, kFree, kQueue, kSpin, kTurn };

// An access that a task makes `often` times on average; `site` numbers who makes it where.
struct Step {
  std::uint64_t address = 0;
  std::uint32_t width = 1;
  coherence_kind kind = COHERENCE_LOAD;
  std::uint32_t site = 0;
  double often = 1;
  double gap = 1;  // of the handover after the step in front of it
  When when = When::kDo;
};

// What the CPUs with a bit in `cpus` do, a turn at a time, `share` weighing it against all other tasks. Turns
// of tasks with the same `lock` exclude each other, first come, first served. 0: no lock. Under a lock
// another CPU goes on before each access with the probability `hold`, again and again: the larger, the longer
// it is held. At a `fair` lock nobody overtakes who waits.
struct Task {
  std::uint64_t cpus = 0;
  double share = 1;
  std::uint32_t lock = 0;
  double hold = 0;
  bool fair = false;
  std::vector<Step> steps;
};

struct Course {
  std::vector<trace_event> events;
  std::vector<coherence_events> counts;  // by site, at lines of 64 bytes; an access counts where it begins
  // By site, accesses to bytes that the CPU had not used since another access of it fetched the line.
  std::vector<std::uint64_t> shadowed;
  // By site, those of the missing and shadowed accesses whose own bytes others had stored to meanwhile.
  std::vector<std::uint64_t> shared;
  // By site, stores to bytes that the CPU had not stored to since it has the line for itself.
  std::vector<std::uint64_t> stored;
};

// `accesses` accesses of the tasks, interleaved: another CPU goes on with the probability `handover` after
// each, and with `ending` after the last of a turn. Tasks and seed decide everything. Throws
// std::invalid_argument for tasks that no CPU can do.
Course MakeCourse(const Machine& machine, const std::vector<Task>& tasks, double handover, double ending,
                  std::uint64_t accesses, std::uint64_t seed);

}  // namespace linesmith::replay
