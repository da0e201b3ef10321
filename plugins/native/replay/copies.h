// SPDX-License-Identifier: GPL-2.0-or-later
// The copies of one line, and how an access changes them: the rules of coherence.h for caches that never
// evict, without what several threads, finite caches and records by line need there. Tests hold the two
// equal.
#pragma once

#include <cstdint>

#include "coherence.h"
#include "machine.h"

namespace linesmith::replay {

struct Copies {
  std::uint64_t holders = 0;  // a bit for each CPU with a copy
  std::uint8_t owner = 0;     // 1 + CPU that may store without asking; 0: nobody
  bool modified = false;      // the owner has stored

  bool HeldBy(std::uint32_t cpu) const { return holders >> cpu & 1; }
  std::uint64_t Others(std::uint32_t cpu) const { return holders & ~(std::uint64_t{1} << cpu); }
  bool ModifiedElsewhere(std::uint32_t cpu) const { return modified && owner != cpu + 1; }
};

// The counter of `events` for an access by `cpu`.
inline std::uint64_t& Counter(coherence_events& events, const Copies& copies, std::uint32_t cpu, bool stores,
                              const Machine& machine) {
  if (copies.HeldBy(cpu)) return !stores || copies.owner == cpu + 1 ? events.hits : events.upgrade;
  if (!copies.ModifiedElsewhere(cpu)) return copies.holders != 0 ? events.shared_miss : events.cold_miss;
  const bool remote = machine.node_of_cpu[copies.owner - 1] != machine.node_of_cpu[cpu];
  if (stores) return remote ? events.own_remote : events.own_local;
  return remote ? events.hitm_remote : events.hitm_local;
}

// Whether an access by `cpu` misses for which another CPU is to blame, where nothing else is asked for:
// `holders` has a bit for each CPU with a copy, and whoever is alone may store without asking.
inline bool MissesAndChanges(std::uint64_t& holders, std::uint32_t cpu, bool stores) {
  const std::uint64_t before = holders;
  holders = (stores ? 0 : before) | std::uint64_t{1} << cpu;
  return before != 0 && holders != before;
}

inline void Change(Copies& copies, std::uint32_t cpu, bool stores) {
  const std::uint64_t bit = std::uint64_t{1} << cpu;
  if (stores) {
    copies = {bit, static_cast<std::uint8_t>(cpu + 1), true};
  } else if (!copies.HeldBy(cpu)) {
    copies.modified = false;
    copies.owner = copies.holders == 0 ? static_cast<std::uint8_t>(cpu + 1) : 0;
    copies.holders |= bit;
  }
}

}  // namespace linesmith::replay
