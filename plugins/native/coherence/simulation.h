// SPDX-License-Identifier: GPL-2.0-or-later
// The state of a simulation, shared by the files that make it.
#ifndef LINESMITH_SIMULATION_H
#define LINESMITH_SIMULATION_H

#include "coherence.h"
#include "line_table.h"
#include "private_cache.h"
#include "tally.h"

// Counters of an access record, in the order of struct coherence_events.
enum event {
  EVENT_HIT,
  EVENT_HITM_LOCAL,
  EVENT_HITM_REMOTE,
  EVENT_SHARED_MISS,
  EVENT_COLD_MISS,
  EVENT_UPGRADE,
  EVENT_OWN_LOCAL,
  EVENT_OWN_REMOTE,
  EVENT_INVALIDATED,
  EVENT_KINDS
};

// Counters of a pair record.
enum { PAIR_LOCAL, PAIR_REMOTE, PAIR_SHADOWED, PAIR_COUNTERS };

// The part of an access that lies in one line.
struct line_access {
  uint32_t offset;  // bytes from the start of the line
  uint32_t width;   // bytes
  enum coherence_kind kind;
  uint32_t site;
};

// What a CPU that has no copy of a line missed since it had one.
struct copy_loss {
  uint64_t taker;   // the store that took the copy away, packed as a store_origin; 0: nobody did
  uint64_t unseen;  // 64ths of the line that others stored to since
};

// What a CPU did with the copy that its last miss brought; its own thread alone reads and writes it.
struct copy_stay {
  uint64_t writer;  // the store to blame for the miss, packed as a store_origin; 0: nobody
  uint64_t unseen;  // 64ths of the line that others had stored to before the miss
  uint64_t seen;    // 64ths that the CPU has accessed since
};

// Of a line where CPUs met and one of them wrote; the stays of the CPUs follow their losses.
struct line_detail {
  uint64_t conflicts;  // coherence events between two CPUs
  struct line_slot *slot;
  struct copy_loss losses[];  // by CPU
};

// The line of the last accesses with this hash, and how many there were since it came here.
struct recent_line {
  uint64_t key;  // 1 + line number; 0: none
  struct line_slot *slot;
  uint64_t loads;
  uint64_t stores;
};

enum { RECENT_LINES = 1024 };

// Adds what was counted for a line since it became a recent one to its slot.
static inline void recent_line_flush(struct recent_line *recent) {
  if (recent->key == 0) return;
  atomic_fetch_add_explicit(&recent->slot->loads, recent->loads, memory_order_relaxed);
  atomic_fetch_add_explicit(&recent->slot->stores, recent->stores, memory_order_relaxed);
  recent->loads = recent->stores = 0;
}

// What belongs to one CPU is changed by the thread that drives it only.
struct cpu_state {
  struct recent_line recent[RECENT_LINES];
  uint32_t number;
  uint64_t bit;  // in line_slot.holders
  struct private_cache cache;
  struct tally records;
  struct tally pairs;
  struct tally callers;
  struct coherence_counts counts;  // without `lines`, `contended` and what the tallies dropped
};

struct coherence {
  struct coherence_config config;
  coherence_path *path;  // NULL: nobody knows of callers
  void *path_context;
  uint32_t line_shift;  // log2 of line_bytes
  uint64_t all_cpus;    // a bit for every CPU
  struct line_table lines;
  char *details;  // of detail_bytes each
  size_t detail_bytes;
  _Atomic uint64_t details_used;  // may pass config.max_contended
  _Atomic uint64_t contended;     // details with conflicts
  struct cpu_state *cpus[COHERENCE_MAX_CPUS];
};

// A store that took ownership, in one word; 0 is none.
struct store_origin {
  uint32_t cpu;
  uint32_t offset;
  uint32_t width;
  uint32_t site;
};

static inline uint64_t store_origin_pack(struct store_origin origin) {
  return (uint64_t)origin.site << 32 | (uint64_t)origin.offset << 16 | (uint64_t)origin.width << 8 |
         (origin.cpu + 1);
}

static inline struct store_origin store_origin_unpack(uint64_t packed) {
  return (struct store_origin){.cpu = (uint32_t)(packed & 0xff) - 1,
                               .offset = packed >> 16 & 0xff,
                               .width = packed >> 8 & 0xff,
                               .site = (uint32_t)(packed >> 32)};
}

static inline struct line_detail *detail_at(const struct coherence *sim, uint64_t index) {
  return (struct line_detail *)(sim->details + index * sim->detail_bytes);
}

static inline struct copy_stay *stay_of(const struct coherence *sim, struct line_detail *detail,
                                        uint32_t cpu) {
  return (struct copy_stay *)(detail->losses + sim->config.cpus) + cpu;
}

// The 64ths of a line that an access touches.
static inline uint64_t touched_64ths(const struct coherence *sim, const struct line_access *access) {
  const uint32_t shift = sim->line_shift - 6;
  const uint32_t first = access->offset >> shift;
  const uint32_t last = (access->offset + access->width - 1) >> shift;
  return ~UINT64_C(0) << first & ~UINT64_C(0) >> (63 - last);
}

#endif
