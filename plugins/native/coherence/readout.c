// SPDX-License-Identifier: GPL-2.0-or-later
// What a simulation at rest has found.
#include <string.h>

#include "coherence.h"
#include "simulation.h"

static void add_counts(struct coherence_counts *sum, const struct coherence_counts *part) {
  uint64_t *to = (uint64_t *)sum;
  const uint64_t *from = (const uint64_t *)part;
  for (size_t word = 0; word < sizeof *sum / sizeof *to; ++word) to[word] += from[word];
}

struct coherence_counts coherence_count(struct coherence *sim) {
  struct coherence_counts counts = {
      .lines = atomic_load_explicit(&sim->lines.used, memory_order_relaxed),
      .contended = atomic_load_explicit(&sim->contended, memory_order_relaxed),
  };
  for (uint32_t cpu = 0; cpu < sim->config.cpus; ++cpu) {
    struct cpu_state *state = sim->cpus[cpu];
    tally_settle(&state->records);
    tally_settle(&state->pairs);
    tally_settle(&state->callers);
    add_counts(&counts, &state->counts);
    counts.dropped_accesses += state->records.dropped;
    counts.dropped_pairs += state->pairs.dropped;
    counts.dropped_callers += state->callers.dropped;
  }
  return counts;
}

static uint64_t line_address(const struct coherence *sim, const struct line_slot *slot) {
  return (atomic_load_explicit(&slot->key, memory_order_relaxed) - 1) << sim->line_shift;
}

static void flush_recent_lines(struct coherence *sim) {
  for (uint32_t cpu = 0; cpu < sim->config.cpus; ++cpu)
    for (uint32_t index = 0; index < RECENT_LINES; ++index) recent_line_flush(&sim->cpus[cpu]->recent[index]);
}

static uint64_t detail_count(struct coherence *sim) {
  const uint64_t used = atomic_load_explicit(&sim->details_used, memory_order_relaxed);
  return used < sim->config.max_contended ? used : sim->config.max_contended;
}

static struct coherence_line describe(const struct coherence *sim, const struct line_detail *detail) {
  struct line_slot *slot = detail->slot;
  const uint32_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);
  return (struct coherence_line){
      .address = line_address(sim, slot),
      .loads = atomic_load_explicit(&slot->loads, memory_order_relaxed),
      .stores = atomic_load_explicit(&slot->stores, memory_order_relaxed),
      .conflicts = detail->conflicts,
      .first_cpu = ((state & STATE_FIRST) >> STATE_FIRST_SHIFT) - 1,
  };
}

void coherence_visit_lines(struct coherence *sim,
                           void (*visit)(void *context, const struct coherence_line *line), void *context) {
  flush_recent_lines(sim);
  const uint64_t count = detail_count(sim);
  for (uint64_t index = 0; index < count; ++index) {
    const struct line_detail *detail = detail_at(sim, index);
    if (detail->conflicts == 0) continue;
    const struct coherence_line line = describe(sim, detail);
    visit(context, &line);
  }
}

// The slot of a record or pair, by the first word of its key; NULL when its line was not contended in the
// end.
static const struct line_slot *contended_slot(const struct coherence *sim, uint64_t word) {
  const struct line_slot *slot = &sim->lines.slots[word];
  return detail_at(sim, slot->detail)->conflicts != 0 ? slot : NULL;
}

static void visit_cpu_records(struct coherence *sim, uint32_t cpu,
                              void (*visit)(void *context, const struct coherence_record *record),
                              void *context) {
  struct tally *tally = &sim->cpus[cpu]->records;
  tally_settle(tally);
  for (uint64_t number = 0; number < tally->used; ++number) {
    const uint64_t *counters;
    const struct tally_key *key = tally_row(tally, number, &counters);
    const struct line_slot *slot = contended_slot(sim, key->words[0]);
    if (slot == NULL) continue;
    struct coherence_record record = {.line = line_address(sim, slot),
                                      .offset = key->words[1] >> 16 & 0xff,
                                      .width = key->words[1] >> 8 & 0xff,
                                      .site = (uint32_t)(key->words[1] >> 32),
                                      .cpu = cpu,
                                      .kind = (enum coherence_kind)(key->words[1] & 0xff)};
    memcpy(&record.events, counters, sizeof record.events);
    visit(context, &record);
  }
}

void coherence_visit_records(struct coherence *sim,
                             void (*visit)(void *context, const struct coherence_record *record),
                             void *context) {
  for (uint32_t cpu = 0; cpu < sim->config.cpus; ++cpu) visit_cpu_records(sim, cpu, visit, context);
}

static void visit_cpu_pairs(struct coherence *sim, uint32_t cpu,
                            void (*visit)(void *context, const struct coherence_pair *pair), void *context) {
  struct tally *tally = &sim->cpus[cpu]->pairs;
  tally_settle(tally);
  for (uint64_t number = 0; number < tally->used; ++number) {
    const uint64_t *counters;
    const struct tally_key *key = tally_row(tally, number, &counters);
    const struct line_slot *slot = contended_slot(sim, key->words[0]);
    if (slot == NULL) continue;
    const struct store_origin writer = store_origin_unpack(key->words[2]);
    const struct coherence_pair pair = {.line = line_address(sim, slot),
                                        .victim_offset = key->words[1] >> 16 & 0xff,
                                        .victim_width = key->words[1] >> 8 & 0xff,
                                        .victim_site = (uint32_t)(key->words[1] >> 32),
                                        .victim_kind = (enum coherence_kind)(key->words[1] & 0xff),
                                        .writer_offset = writer.offset,
                                        .writer_width = writer.width,
                                        .writer_site = writer.site,
                                        .victim_cpu = cpu,
                                        .writer_cpu = writer.cpu,
                                        .true_sharing = key->words[1] >> 24 & 1,
                                        .local = counters[PAIR_LOCAL],
                                        .remote = counters[PAIR_REMOTE],
                                        .shadowed = counters[PAIR_SHADOWED]};
    visit(context, &pair);
  }
}

void coherence_visit_pairs(struct coherence *sim,
                           void (*visit)(void *context, const struct coherence_pair *pair), void *context) {
  for (uint32_t cpu = 0; cpu < sim->config.cpus; ++cpu) visit_cpu_pairs(sim, cpu, visit, context);
}

static void visit_cpu_callers(struct coherence *sim, uint32_t cpu,
                              void (*visit)(void *context, const struct coherence_caller *caller),
                              void *context) {
  struct tally *tally = &sim->cpus[cpu]->callers;
  tally_settle(tally);
  for (uint64_t number = 0; number < tally->used; ++number) {
    const uint64_t *count;
    const struct tally_key *key = tally_row(tally, number, &count);
    const struct line_slot *slot = contended_slot(sim, key->words[0]);
    if (slot == NULL) continue;
    const struct coherence_caller caller = {.line = line_address(sim, slot),
                                            .offset = key->words[1] >> 16 & 0xff,
                                            .width = key->words[1] >> 8 & 0xff,
                                            .site = (uint32_t)(key->words[1] >> 32),
                                            .kind = (enum coherence_kind)(key->words[1] & 0xff),
                                            .path = (uint32_t)key->words[2],
                                            .count = *count};
    visit(context, &caller);
  }
}

void coherence_visit_callers(struct coherence *sim,
                             void (*visit)(void *context, const struct coherence_caller *caller),
                             void *context) {
  for (uint32_t cpu = 0; cpu < sim->config.cpus; ++cpu) visit_cpu_callers(sim, cpu, visit, context);
}
