// SPDX-License-Identifier: GPL-2.0-or-later
// Making and unmaking a simulation, and the way of an access that changes nothing.
#include "coherence.h"

#include <stdlib.h>

#include "simulation.h"
#include "transition.h"
#include "zero_pages.h"

#define MAX_ROWS (UINT64_C(1) << 31)  // their numbers fit into 32 bits

enum {
  MAX_WAYS = 64,
  MAX_LINE_SLOTS = 1 << 30  // an index fits into 32 bits, and the table into the address space
};

static bool is_power_of_two(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

struct coherence_config coherence_default_config(uint32_t cpus) {
  return (struct coherence_config){.line_bytes = 64,
                                   .cpus = cpus,
                                   .cache_ways = 8,
                                   .max_lines = UINT64_C(1) << 22,
                                   .max_contended = UINT64_C(1) << 19,
                                   .max_accesses = UINT64_C(1) << 17,
                                   .max_pairs = UINT64_C(1) << 17,
                                   .max_callers = UINT64_C(1) << 17,
                                   .hits_after = 32};
}

static uint64_t cache_lines(const struct coherence_config *config) {
  return config->cache_bytes / config->line_bytes;
}

static const char *check_cache(const struct coherence_config *config) {
  if (config->cache_bytes == 0) return NULL;
  if (config->cache_ways == 0 || config->cache_ways > MAX_WAYS) return "a private cache has 1 to 64 ways";
  if (cache_lines(config) > MAX_LINE_SLOTS) return "a private cache has at most 2^30 lines";
  if (config->cache_bytes % ((uint64_t)config->line_bytes * config->cache_ways) != 0 ||
      !is_power_of_two(cache_lines(config) / config->cache_ways))
    return "the bytes of a private cache must be its ways times the line size times a power of two";
  return NULL;
}

const char *coherence_check(const struct coherence_config *config) {
  if (config->line_bytes != 64 && config->line_bytes != 128 && config->line_bytes != 256)
    return "a cache line has 64, 128 or 256 bytes";
  if (config->cpus == 0 || config->cpus > COHERENCE_MAX_CPUS) return "there are 1 to 64 CPUs";
  if (config->adjacent > 1) return "the adjacent-line prefetch is 0 (off) or 1 (on)";
  if (config->max_lines == 0 || config->max_lines > MAX_LINE_SLOTS)
    return "the directory has 1 to 2^30 lines";
  if (config->max_contended > MAX_LINE_SLOTS) return "at most 2^30 lines have details";
  if (config->max_accesses > MAX_ROWS || config->max_pairs > MAX_ROWS || config->max_callers > MAX_ROWS)
    return "a CPU has at most 2^31 records of a kind";
  return check_cache(config);
}

static uint64_t round_up_to_power_of_two(uint64_t value) {
  uint64_t power = 1;
  while (power < value) power *= 2;
  return power;
}

static struct cpu_state *create_cpu(const struct coherence *sim, uint32_t number) {
  const struct coherence_config *config = &sim->config;
  struct cpu_state *cpu = calloc(1, sizeof *cpu);
  if (cpu == NULL) return NULL;
  cpu->number = number;
  cpu->bit = UINT64_C(1) << number;
  const bool cache = private_cache_init(&cpu->cache, cache_lines(config), config->cache_ways, number);
  const bool records = tally_init(&cpu->records, EVENT_KINDS, config->max_accesses);
  const bool pairs = tally_init(&cpu->pairs, PAIR_COUNTERS, config->max_pairs);
  const bool callers = tally_init(&cpu->callers, 1, config->max_callers);
  if (cache && records && pairs && callers) return cpu;
  private_cache_free(&cpu->cache);
  tally_free(&cpu->records);
  tally_free(&cpu->pairs);
  tally_free(&cpu->callers);
  free(cpu);
  return NULL;
}

static bool create_parts(struct coherence *sim) {
  const struct coherence_config *config = &sim->config;
  if (!line_table_init(&sim->lines, round_up_to_power_of_two(config->max_lines))) return false;
  sim->details = zero_pages_map((config->max_contended + 1) * sim->detail_bytes);
  if (sim->details == NULL) return false;
  for (uint32_t cpu = 0; cpu < config->cpus; ++cpu) {
    sim->cpus[cpu] = create_cpu(sim, cpu);
    if (sim->cpus[cpu] == NULL) return false;
  }
  return true;
}

struct coherence *coherence_create(const struct coherence_config *config) {
  if (coherence_check(config) != NULL) return NULL;
  struct coherence *sim = calloc(1, sizeof *sim);
  if (sim == NULL) return NULL;
  sim->config = *config;
  sim->line_shift = (uint32_t)__builtin_ctz(config->line_bytes);
  sim->all_cpus = ~UINT64_C(0) >> (COHERENCE_MAX_CPUS - config->cpus);
  sim->detail_bytes =
      sizeof(struct line_detail) + config->cpus * (sizeof(struct copy_loss) + sizeof(struct copy_stay));
  if (create_parts(sim)) return sim;
  coherence_destroy(sim);
  return NULL;
}

void coherence_destroy(struct coherence *sim) {
  if (sim == NULL) return;
  for (uint32_t cpu = 0; cpu < sim->config.cpus && sim->cpus[cpu] != NULL; ++cpu) {
    private_cache_free(&sim->cpus[cpu]->cache);
    tally_free(&sim->cpus[cpu]->records);
    tally_free(&sim->cpus[cpu]->pairs);
    tally_free(&sim->cpus[cpu]->callers);
    free(sim->cpus[cpu]);
  }
  zero_pages_unmap(sim->details, (sim->config.max_contended + 1) * sim->detail_bytes);
  line_table_free(&sim->lines);
  free(sim);
}

void coherence_follow_paths(struct coherence *sim, coherence_path *path, void *context) {
  sim->path = path;
  sim->path_context = context;
}

const struct coherence_config *coherence_configuration(const struct coherence *sim) { return &sim->config; }

// The entry of a line among the recent ones of a CPU; NULL when the directory is full.
static inline struct recent_line *recent_line(struct coherence *sim, struct cpu_state *cpu, uint64_t line) {
  struct recent_line *recent = &cpu->recent[line % RECENT_LINES];
  if (recent->key == line + 1) return recent;
  struct line_slot *slot = line_table_slot(&sim->lines, line);
  if (slot == NULL) return NULL;
  recent_line_flush(recent);
  *recent = (struct recent_line){.key = line + 1, .slot = slot};
  return recent;
}

void coherence_expect(const struct coherence *sim, uint32_t cpu, uint64_t address) {
  const uint64_t line = address >> sim->line_shift;
  const struct recent_line *recent = &sim->cpus[cpu]->recent[line % RECENT_LINES];
  if (recent->key == line + 1) __builtin_prefetch(recent->slot, 1);
}

// An access that the CPU's copy allows.
static void hit(struct coherence *sim, struct cpu_state *cpu, struct line_slot *slot,
                const struct line_access *access, uint32_t state) {
  ++cpu->counts.events.hits;
  if (access->kind != COHERENCE_LOAD) {
    const uint64_t touched = touched_64ths(sim, access);
    const uint64_t written = atomic_load_explicit(&slot->written, memory_order_relaxed);
    // Only the owner is here, so a plain store adds to the set.
    if ((touched & ~written) != 0)
      atomic_store_explicit(&slot->written, written | touched, memory_order_relaxed);
  }
  if (state & STATE_HITS) transition_hit(sim, cpu, slot, access);
  if (sim->config.adjacent && (atomic_load_explicit(&slot->prefetched, memory_order_relaxed) & cpu->bit))
    atomic_fetch_and_explicit(&slot->prefetched, ~cpu->bit, memory_order_relaxed);
}

static bool allowed(const struct cpu_state *cpu, struct line_slot *slot, enum coherence_kind kind,
                    uint32_t state) {
  if (kind == COHERENCE_LOAD)
    return (atomic_load_explicit(&slot->holders, memory_order_relaxed) & cpu->bit) != 0;
  return (state & (STATE_OWNER | STATE_MODIFIED)) == (STATE_MODIFIED | (cpu->number + 1));
}

static void access_line(struct coherence *sim, struct cpu_state *cpu, uint64_t line,
                        const struct line_access *access) {
  struct recent_line *recent = recent_line(sim, cpu, line);
  if (recent == NULL) {
    ++cpu->counts.dropped_lines;
    return;
  }
  ++*(access->kind == COHERENCE_LOAD ? &recent->loads : &recent->stores);
  struct line_slot *slot = recent->slot;
  // Acquired, since a hit may use the detail that another thread gave the line.
  const uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
  if (allowed(cpu, slot, access->kind, state)) {
    hit(sim, cpu, slot, access, state);
  } else {
    transition_access(sim, cpu, slot, access);
  }
  if (cpu->cache.ways != NULL) transition_use(sim, cpu, slot);
}

// The lines of an access that does not end where it began.
static void access_lines(struct coherence *sim, struct cpu_state *cpu, uint64_t address, uint32_t width,
                         const struct line_access *access) {
  struct line_access part = *access;
  while (width > 0) {
    const uint32_t room = sim->config.line_bytes - part.offset;
    part.width = width < room ? width : room;
    access_line(sim, cpu, address >> sim->line_shift, &part);
    address += part.width;
    width -= part.width;
    part.offset = 0;
  }
}

void coherence_access(struct coherence *sim, uint32_t number, uint64_t address, uint32_t width,
                      enum coherence_kind kind, uint32_t site) {
  struct cpu_state *cpu = sim->cpus[number];
  if (width == 0) return;
  if (width > COHERENCE_MAX_WIDTH) width = COHERENCE_MAX_WIDTH;
  ++cpu->counts.accesses;
  const struct line_access access = {.offset = (uint32_t)(address & (sim->config.line_bytes - 1)),
                                     .width = width,
                                     .kind = kind,
                                     .site = site};
  if (access.offset + width <= sim->config.line_bytes) {
    access_line(sim, cpu, address >> sim->line_shift, &access);
  } else {
    ++cpu->counts.spanning;
    access_lines(sim, cpu, address, width, &access);
  }
}
