// SPDX-License-Identifier: GPL-2.0-or-later
// Simulates how cache lines travel between the private caches of CPUs (MESI), and counts why.
//
// The model, with its sources: docs/coherence.md. Nothing here knows of QEMU, symbols or files. Several
// threads may call coherence_access at once as long as each CPU is driven by one thread at a time; every
// other function wants the simulation at rest.
#ifndef LINESMITH_COHERENCE_H
#define LINESMITH_COHERENCE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  COHERENCE_MAX_CPUS = 64,   // one bit per CPU in a 64-bit word
  COHERENCE_MAX_WIDTH = 255  // bytes of one access
};

enum coherence_kind {
  COHERENCE_LOAD = 0,
  COHERENCE_STORE = 1,
  COHERENCE_ATOMIC = 2  // reads and writes as one; needs ownership like a store
};

struct coherence_config {
  uint32_t line_bytes;                      // 64, 128 or 256
  uint32_t cpus;                            // 1 to COHERENCE_MAX_CPUS
  uint8_t node_of_cpu[COHERENCE_MAX_CPUS];  // NUMA node of each CPU; any small numbers
  uint64_t cache_bytes;                     // private cache of one CPU in bytes; 0: never evicts
  uint32_t cache_ways;                      // lines per set of a private cache; sets must be a power of two
  uint32_t adjacent;       // 1: a miss also fetches the other line of its aligned pair, shared
  uint64_t max_lines;      // slots of the directory, rounded up to a power of two
  uint64_t max_contended;  // lines that may have detailed records
  uint64_t max_accesses;   // access records of one CPU; 0: keep none
  uint64_t max_pairs;      // pair records of one CPU; 0: keep none
  uint64_t max_callers;    // caller records of one CPU; 0: keep none
  uint64_t
      hits_after;  // conflicts of a line before its hits go to access records; 0: from the first detail on
};

// How one kind of event was counted. Every access to one line ends in exactly one of the first eight.
struct coherence_events {
  uint64_t hits;         // the copy was there with the permission needed
  uint64_t hitm_local;   // load: the line was modified in a cache of the same node
  uint64_t hitm_remote;  // load: ... of another node
  uint64_t shared_miss;  // load or store: no copy here, clean copies elsewhere (a store takes them away)
  uint64_t cold_miss;    // load or store: no copy in any cache
  uint64_t upgrade;      // store: had a shared copy, needed ownership
  uint64_t own_local;    // store: taken from a modified copy in a cache of the same node
  uint64_t own_remote;   // store: ... of another node
  uint64_t invalidated;  // of these misses, those whose copy a writer had taken away since the last access
};

// Totals of a simulation; the dropped ones count events that found a full table.
struct coherence_counts {
  uint64_t accesses;           // calls of coherence_access; one that spans lines is one
  uint64_t spanning;           // accesses that touched more than one line
  uint64_t lines;              // lines in the directory
  uint64_t contended;          // lines with at least one coherence event between two CPUs
  uint64_t invalidations;      // copies taken away by a store
  uint64_t evictions;          // copies that left a finite cache
  uint64_t prefetches;         // lines brought by the adjacent-line prefetch
  uint64_t prefetch_upgrades;  // upgrades where all other copies were fetched ahead and never used
  uint64_t true_sharing;       // misses by a writer's doing whose bytes others wrote since the last copy
  uint64_t false_sharing;      // ... whose bytes nobody else wrote
  uint64_t dropped_lines;      // accesses not followed: the directory was full
  uint64_t dropped_contended;  // events of lines that got no detailed record: max_contended was reached
  uint64_t dropped_accesses;   // events not in access records: max_accesses was reached
  uint64_t dropped_pairs;      // events not in pair records: max_pairs was reached
  uint64_t dropped_callers;    // events not in caller records: max_callers was reached
  struct coherence_events events;
};

struct coherence_line {
  uint64_t address;  // of the first byte
  uint64_t loads;
  uint64_t stores;     // stores and atomics
  uint64_t conflicts;  // coherence events between two CPUs
  uint32_t first_cpu;  // the first to touch it
};

struct coherence_record {
  uint64_t line;  // address of the first byte
  uint32_t offset;
  uint32_t width;
  uint32_t site;
  uint32_t cpu;
  enum coherence_kind kind;
  struct coherence_events events;
};

// A miss (the victim's access) and the store that had taken its copy away, or that owned the line modified.
struct coherence_pair {
  uint64_t line;  // address of the first byte
  uint32_t victim_offset;
  uint32_t victim_width;
  uint32_t victim_site;
  enum coherence_kind victim_kind;
  uint32_t writer_offset;
  uint32_t writer_width;
  uint32_t writer_site;
  uint32_t victim_cpu;
  uint32_t writer_cpu;
  uint32_t true_sharing;  // 1: others wrote bytes of the victim's access since its last copy; 0: they did not
  uint64_t local;         // the modified copy, or else the writer, was on the victim's node
  uint64_t remote;
  uint64_t shadowed;  // accesses to further bytes that hit only as another miss had brought the line back
};

// Accesses that found the line modified in another cache, by the way on which the code was reached.
struct coherence_caller {
  uint64_t line;  // address of the first byte
  uint32_t offset;
  uint32_t width;
  uint32_t site;
  enum coherence_kind kind;
  uint32_t path;   // as the caller of the simulation numbers them
  uint64_t count;  // loads with a HITM, and stores that took the line
};

// The number of the way by which a CPU came to its present access; 0: not known.
typedef uint32_t coherence_path(void *context, uint32_t cpu);

struct coherence;

// The defaults of every bound: infinite caches, one node, 64-byte lines, `cpus` CPUs.
struct coherence_config coherence_default_config(uint32_t cpus);

// What is wrong with a configuration, as a sentence without its full stop; NULL when nothing is.
const char *coherence_check(const struct coherence_config *config);

// Makes a simulation with empty caches. NULL when the configuration is wrong or there is no memory.
struct coherence *coherence_create(const struct coherence_config *config);
void coherence_destroy(struct coherence *sim);

// One access of `width` bytes (0 is none) at `address` by `cpu`; an access that spans lines touches each of
// them in ascending order. `site` is the caller's number of the instruction. `cpu` must be below config.cpus.
void coherence_access(struct coherence *sim, uint32_t cpu, uint64_t address, uint32_t width,
                      enum coherence_kind kind, uint32_t site);

// Brings what an access to come will look at into the caches of the host.
void coherence_expect(const struct coherence *sim, uint32_t cpu, uint64_t address);

// Has caller records made: `path` is called during an access that found the line modified in another cache.
void coherence_follow_paths(struct coherence *sim, coherence_path *path, void *context);

const struct coherence_config *coherence_configuration(const struct coherence *sim);
struct coherence_counts coherence_count(struct coherence *sim);

// Calls `visit` for every contended line, every access record of one, every pair, every caller, in no
// particular order. The value is valid during the call only.
void coherence_visit_lines(struct coherence *sim,
                           void (*visit)(void *context, const struct coherence_line *line), void *context);
void coherence_visit_records(struct coherence *sim,
                             void (*visit)(void *context, const struct coherence_record *record),
                             void *context);
void coherence_visit_pairs(struct coherence *sim,
                           void (*visit)(void *context, const struct coherence_pair *pair), void *context);
void coherence_visit_callers(struct coherence *sim,
                             void (*visit)(void *context, const struct coherence_caller *caller),
                             void *context);

#ifdef __cplusplus
}
#endif

#endif
