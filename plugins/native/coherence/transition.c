// SPDX-License-Identifier: GPL-2.0-or-later
#include "transition.h"

// One change of one line, under its lock.
struct transition {
  struct coherence *sim;
  struct cpu_state *cpu;
  struct line_slot *slot;
  uint32_t state;              // line_slot.state at the start, then as it will be
  uint64_t holders;            // likewise
  struct line_detail *detail;  // NULL: none, or no room for one
};

// What an access came to.
struct outcome {
  enum event event;
  struct copy_loss loss;  // of a miss
  uint64_t writer;        // store to blame for the miss, packed; 0: nobody's doing
  uint32_t supplier;      // CPU that the line, or else the loss of it, came from; valid with a writer
  bool conflict;          // a second CPU was concerned, and one of the two wrote
};

static bool owned_by_other(const struct transition *t) {
  const uint32_t owner = t->state & STATE_OWNER;
  return owner != 0 && owner != t->cpu->number + 1;
}

static uint64_t others(const struct transition *t) { return t->holders & ~t->cpu->bit; }

static bool holds(const struct transition *t) { return (t->holders & t->cpu->bit) != 0; }

static uint64_t prefetched(const struct transition *t) {
  return atomic_load_explicit(&t->slot->prefetched, memory_order_relaxed);
}

static struct transition begin(struct coherence *sim, struct cpu_state *cpu, struct line_slot *slot) {
  struct transition t = {.sim = sim, .cpu = cpu, .slot = slot, .state = line_slot_lock(slot)};
  t.holders = atomic_load_explicit(&slot->holders, memory_order_relaxed);
  t.detail = t.state & STATE_DETAILED ? detail_at(sim, slot->detail) : NULL;
  return t;
}

static void end(const struct transition *t) {
  atomic_store_explicit(&t->slot->holders, t->holders, memory_order_relaxed);
  line_slot_unlock(t->slot, t->state);
}

// The CPUs that have no copy have not seen what the owner wrote; who gets a copy from now on has.
static void publish_written(struct transition *t) {
  const uint64_t written = atomic_load_explicit(&t->slot->written, memory_order_relaxed);
  if (t->detail == NULL || written == 0) return;
  for (uint64_t rest = t->sim->all_cpus & ~t->holders; rest != 0; rest &= rest - 1)
    t->detail->losses[__builtin_ctzll(rest)].unseen |= written;
  atomic_store_explicit(&t->slot->written, 0, memory_order_relaxed);
}

// Until a line has a detail only one CPU has ever stored to it: what all others have not seen is what it
// wrote.
static void add_detail(struct transition *t) {
  struct coherence *sim = t->sim;
  const uint64_t max = sim->config.max_contended;
  uint64_t index = atomic_load_explicit(&sim->details_used, memory_order_relaxed);
  if (index < max) index = atomic_fetch_add_explicit(&sim->details_used, 1, memory_order_relaxed);
  if (index >= max) {
    ++t->cpu->counts.dropped_contended;
    return;
  }
  t->detail = detail_at(sim, index);
  t->detail->slot = t->slot;
  t->slot->detail = (uint32_t)index;
  t->state |= sim->config.hits_after == 0 ? STATE_DETAILED | STATE_HITS : STATE_DETAILED;
  const uint64_t holders = t->holders;
  if (t->slot->writer != 0) t->holders |= UINT64_C(1) << store_origin_unpack(t->slot->writer).cpu;
  publish_written(t);
  t->holders = holders;
}

static bool written_by_other(const struct transition *t) {
  return t->slot->writer != 0 && store_origin_unpack(t->slot->writer).cpu != t->cpu->number;
}

static void prepare(struct transition *t, enum coherence_kind kind) {
  const bool meets_writer = !holds(t) && written_by_other(t);
  const bool takes_copies = kind != COHERENCE_LOAD && others(t) != 0;
  if (t->detail == NULL && (meets_writer || takes_copies)) add_detail(t);
  if (!holds(t)) publish_written(t);
}

static bool is_remote(const struct transition *t, uint32_t cpu) {
  const uint8_t *nodes = t->sim->config.node_of_cpu;
  return nodes[cpu] != nodes[t->cpu->number];
}

static enum event classify(const struct transition *t, enum coherence_kind kind) {
  const bool load = kind == COHERENCE_LOAD;
  if (holds(t)) return load || (t->state & STATE_OWNER) == t->cpu->number + 1 ? EVENT_HIT : EVENT_UPGRADE;
  if (owned_by_other(t) && t->state & STATE_MODIFIED) {
    const bool remote = is_remote(t, (t->state & STATE_OWNER) - 1);
    if (load) return remote ? EVENT_HITM_REMOTE : EVENT_HITM_LOCAL;
    return remote ? EVENT_OWN_REMOTE : EVENT_OWN_LOCAL;
  }
  return others(t) != 0 ? EVENT_SHARED_MISS : EVENT_COLD_MISS;
}

static void blame(const struct transition *t, struct outcome *outcome) {
  const bool modified = owned_by_other(t) && t->state & STATE_MODIFIED;
  outcome->writer = outcome->loss.taker;
  if (outcome->writer == 0 && modified) outcome->writer = t->slot->writer;
  if (outcome->writer == 0) return;
  outcome->supplier = modified ? (t->state & STATE_OWNER) - 1 : store_origin_unpack(outcome->writer).cpu;
}

// A store that finds copies elsewhere met another CPU, unless those copies were fetched ahead for nothing and
// it had none itself to lose.
static bool takes_from_others(const struct transition *t, const struct outcome *outcome,
                              enum coherence_kind kind) {
  if (kind == COHERENCE_LOAD) return false;
  return (outcome->event == EVENT_UPGRADE ? others(t) : others(t) & ~prefetched(t)) != 0;
}

static struct outcome judge(struct transition *t, enum coherence_kind kind) {
  struct outcome outcome = {.event = classify(t, kind)};
  if (!holds(t) && t->detail != NULL) {
    struct copy_loss *loss = &t->detail->losses[t->cpu->number];
    outcome.loss = *loss;
    *loss = (struct copy_loss){0};
    blame(t, &outcome);
  }
  outcome.conflict = outcome.writer != 0 || takes_from_others(t, &outcome, kind);
  return outcome;
}

static void take_copies(struct transition *t, uint64_t taker) {
  t->cpu->counts.invalidations += (uint64_t)__builtin_popcountll(others(t));
  if (t->detail == NULL) return;
  for (uint64_t rest = others(t); rest != 0; rest &= rest - 1)
    t->detail->losses[__builtin_ctzll(rest)] = (struct copy_loss){.taker = taker};
}

static void own(struct transition *t, const struct line_access *access) {
  const uint64_t origin = store_origin_pack((struct store_origin){
      .cpu = t->cpu->number, .offset = access->offset, .width = access->width, .site = access->site});
  take_copies(t, origin);
  t->slot->writer = origin;
  t->holders = t->cpu->bit;
  t->state = (t->state & ~(uint32_t)STATE_OWNER) | STATE_MODIFIED | (t->cpu->number + 1);
  atomic_fetch_or_explicit(&t->slot->written, touched_64ths(t->sim, access), memory_order_relaxed);
}

// Alone it is exclusive (E), else everybody's copy is shared (S).
static void share(struct transition *t) {
  t->state &= ~(uint32_t)(STATE_OWNER | STATE_MODIFIED);
  if (others(t) == 0) t->state |= t->cpu->number + 1;
  t->holders |= t->cpu->bit;
}

static void apply(struct transition *t, const struct line_access *access) {
  if (!(t->state & STATE_FIRST)) t->state |= (t->cpu->number + 1) << STATE_FIRST_SHIFT;
  if (access->kind != COHERENCE_LOAD) {
    own(t, access);
  } else if (!holds(t)) {
    share(t);
  }
  // Whoever still has a copy fetched ahead keeps the mark; the CPU itself uses its copy now.
  const uint64_t unused = prefetched(t) & t->holders & ~t->cpu->bit;
  atomic_store_explicit(&t->slot->prefetched, unused, memory_order_relaxed);
}

static uint64_t site_and_place(const struct line_access *access) {
  return (uint64_t)access->site << 32 | (uint64_t)access->offset << 16 | (uint64_t)access->width << 8 |
         (uint64_t)access->kind;
}

// Counts an event in the access record of a line with a detail.
static void record_event(struct coherence *sim, struct cpu_state *cpu, const struct line_slot *slot,
                         const struct line_access *access, enum event event) {
  if (sim->config.max_accesses == 0) return;
  const uint64_t line = line_table_index(&sim->lines, slot);
  const struct tally_key key = {{line, site_and_place(access), 0}};
  tally_count(&cpu->records, &key, event);
}

// Counts an access that found the line modified elsewhere for who called its code.
static void record_caller(const struct transition *t, const struct line_access *access) {
  struct coherence *sim = t->sim;
  if (sim->path == NULL || sim->config.max_callers == 0) return;
  const uint64_t line = line_table_index(&sim->lines, t->slot);
  const struct tally_key key = {{line, site_and_place(access), sim->path(sim->path_context, t->cpu->number)}};
  tally_count(&t->cpu->callers, &key, 0);
}

static void record_pair(struct coherence *sim, struct cpu_state *cpu, const struct line_slot *slot,
                        const struct line_access *access, uint64_t writer, bool true_sharing, int counter) {
  if (sim->config.max_pairs == 0) return;
  const uint64_t line = line_table_index(&sim->lines, slot);
  const struct tally_key key = {{line, site_and_place(access) | (uint64_t)true_sharing << 24, writer}};
  tally_count(&cpu->pairs, &key, (uint32_t)counter);
}

// The first access to bytes of a copy that a miss on other bytes brought: on a line of their own it would
// have been these bytes that missed.
static void record_shadowed(struct coherence *sim, struct cpu_state *cpu, const struct line_slot *slot,
                            const struct line_access *access) {
  struct copy_stay *stay = stay_of(sim, detail_at(sim, slot->detail), cpu->number);
  const uint64_t touched = touched_64ths(sim, access);
  if (stay->writer == 0 || (touched & ~stay->seen) == 0) return;
  stay->seen |= touched;
  record_pair(sim, cpu, slot, access, stay->writer, (stay->unseen & touched) != 0, PAIR_SHADOWED);
}

void transition_hit(struct coherence *sim, struct cpu_state *cpu, const struct line_slot *slot,
                    const struct line_access *access) {
  record_event(sim, cpu, slot, access, EVENT_HIT);
  record_shadowed(sim, cpu, slot, access);
}

static void begin_stay(const struct transition *t, const struct line_access *access,
                       const struct outcome *outcome) {
  *stay_of(t->sim, t->detail, t->cpu->number) = (struct copy_stay){
      .writer = outcome->writer, .unseen = outcome->loss.unseen, .seen = touched_64ths(t->sim, access)};
}

static bool takes_modified(enum event event) {
  return event == EVENT_HITM_LOCAL || event == EVENT_HITM_REMOTE || event == EVENT_OWN_LOCAL ||
         event == EVENT_OWN_REMOTE;
}

static uint64_t *event_counter(struct coherence_events *events, enum event event) {
  return &((uint64_t *)events)[event];
}
_Static_assert(sizeof(struct coherence_events) == EVENT_KINDS * sizeof(uint64_t), "events are counters only");

// The counts of the CPU and its records; the lock is no longer held.
static void account(struct transition *t, const struct line_access *access, const struct outcome *outcome) {
  struct coherence_counts *counts = &t->cpu->counts;
  ++*event_counter(&counts->events, outcome->event);
  if (outcome->loss.taker != 0) ++counts->events.invalidated;
  if (t->detail == NULL) return;
  if (outcome->event == EVENT_HIT) {
    if (t->state & STATE_HITS) transition_hit(t->sim, t->cpu, t->slot, access);
    return;
  }
  record_event(t->sim, t->cpu, t->slot, access, outcome->event);
  if (outcome->loss.taker != 0) record_event(t->sim, t->cpu, t->slot, access, EVENT_INVALIDATED);
  if (outcome->event == EVENT_UPGRADE) {
    record_shadowed(t->sim, t->cpu, t->slot, access);
    return;
  }
  if (takes_modified(outcome->event)) record_caller(t, access);
  begin_stay(t, access, outcome);
  if (outcome->writer == 0) return;
  const bool true_sharing = (outcome->loss.unseen & touched_64ths(t->sim, access)) != 0;
  ++*(true_sharing ? &counts->true_sharing : &counts->false_sharing);
  const int counter = is_remote(t, outcome->supplier) ? PAIR_REMOTE : PAIR_LOCAL;
  record_pair(t->sim, t->cpu, t->slot, access, outcome->writer, true_sharing, counter);
}

static void count_conflict(struct transition *t, const struct outcome *outcome) {
  if (outcome->event == EVENT_UPGRADE && others(t) != 0 && (others(t) & ~prefetched(t)) == 0)
    ++t->cpu->counts.prefetch_upgrades;
  if (!outcome->conflict || t->detail == NULL) return;
  if (t->detail->conflicts++ == 0) atomic_fetch_add_explicit(&t->sim->contended, 1, memory_order_relaxed);
  if (t->detail->conflicts >= t->sim->config.hits_after) t->state |= STATE_HITS;
}

// A copy that comes or goes by nobody's doing.
static void forget_stay(const struct transition *t) {
  t->detail->losses[t->cpu->number] = (struct copy_loss){0};
  *stay_of(t->sim, t->detail, t->cpu->number) = (struct copy_stay){0};
}

// The other line of the aligned pair comes along, shared. Its owner will have to ask again before it stores.
static void prefetch_buddy(struct coherence *sim, struct cpu_state *cpu, const struct line_slot *missed) {
  const uint64_t line = atomic_load_explicit(&missed->key, memory_order_relaxed) - 1;
  struct line_slot *slot = line_table_slot(&sim->lines, line ^ 1);
  if (slot == NULL) return;
  struct transition t = begin(sim, cpu, slot);
  const bool held = holds(&t);
  if (!held) {
    prepare(&t, COHERENCE_LOAD);
    if (t.detail != NULL) forget_stay(&t);
    share(&t);
    atomic_fetch_or_explicit(&slot->prefetched, cpu->bit, memory_order_relaxed);
    ++cpu->counts.prefetches;
  }
  end(&t);
  if (!held) transition_use(sim, cpu, slot);
}

void transition_access(struct coherence *sim, struct cpu_state *cpu, struct line_slot *slot,
                       const struct line_access *access) {
  struct transition t = begin(sim, cpu, slot);
  const bool missed = !holds(&t);
  prepare(&t, access->kind);
  const struct outcome outcome = judge(&t, access->kind);
  count_conflict(&t, &outcome);
  apply(&t, access);
  end(&t);
  account(&t, access, &outcome);
  if (missed && sim->config.adjacent) prefetch_buddy(sim, cpu, slot);
}

static void evict(struct coherence *sim, struct cpu_state *cpu, struct line_slot *slot) {
  struct transition t = begin(sim, cpu, slot);
  if (holds(&t)) {
    publish_written(&t);
    if (t.detail != NULL) forget_stay(&t);
    t.holders &= ~cpu->bit;
    if ((t.state & STATE_OWNER) == cpu->number + 1) t.state &= ~(uint32_t)(STATE_OWNER | STATE_MODIFIED);
    atomic_fetch_and_explicit(&slot->prefetched, ~cpu->bit, memory_order_relaxed);
    ++cpu->counts.evictions;
  }
  end(&t);
}

void transition_use(struct coherence *sim, struct cpu_state *cpu, struct line_slot *slot) {
  if (cpu->cache.ways == NULL) return;
  struct line_slot *leaving = private_cache_use(&cpu->cache, slot);
  if (leaving != NULL) evict(sim, cpu, leaving);
}
