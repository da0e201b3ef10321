// SPDX-License-Identifier: GPL-2.0-or-later
#include "follow.h"

// Entries between the one that is taken and the one whose memory is fetched.
enum { AHEAD = 12 };

static struct journal_entry entry_of(const struct repeat *repeat) {
  return (struct journal_entry){.address = repeat->address,
                                .site = repeat->site,
                                .width = (uint8_t)repeat->width,
                                .deed = repeat->kind};
}

typedef void take_access(struct run *run, uint32_t cpu, const struct journal_entry *access);

static inline void take_repeat(struct run *run, uint32_t cpu, struct repeat *repeat, take_access *take) {
  struct journal_entry joined = entry_of(repeat);
  repeat->width = 0;
  if (joined.width) take(run, cpu, &joined);
}

static void end_repeats(struct run *run, uint32_t cpu, struct repeats *repeats, take_access *take) {
  repeats->pending = false;
  take_repeat(run, cpu, &repeats->loads, take);
  take_repeat(run, cpu, &repeats->stores, take);
}

/** An access of a repeated string instruction is taken when those that adjoin it have come. */
static void repeat_access(struct run *run, uint32_t cpu, struct repeats *repeats,
                          const struct journal_entry *access, take_access *take) {
  struct repeat *repeat = access->deed == DEED_LOAD ? &repeats->loads : &repeats->stores;
  if (repeat_join(repeat, access->address, access->width, access->site)) return;
  take_repeat(run, cpu, repeat, take);
  *repeat = (struct repeat){
      .address = access->address, .width = access->width, .site = access->site, .kind = access->deed};
  repeats->pending = true;
}

static void simulate_access(struct run *run, uint32_t cpu, const struct journal_entry *access) {
  coherence_access(run->coherence, cpu, access->address, access->width, access->deed, access->site);
}

static void simulate_block(struct run *run, uint32_t cpu, uint64_t block) {
  calls_run(&run->calls.cpus[cpu], code_block_place(block), block_shapes_of(&run->shapes, block));
  struct repeats *repeats = &run->repeats[cpu];
  if (repeats->pending) end_repeats(run, cpu, repeats, simulate_access);
}

static void simulate(void *context, const struct journal_batch *batch) {
  struct run *run = context;
  const uint32_t cpu = batch->cpu;
  for (uint32_t i = 0; i < batch->count; i++) {
    const struct journal_entry *entry = &batch->entries[i];
    const struct journal_entry *later = entry + AHEAD;
    if (i + AHEAD < batch->count && later->deed <= DEED_ATOMIC)
      coherence_expect(run->coherence, cpu, later->address);
    if (entry->deed == DEED_BLOCK)
      simulate_block(run, cpu, entry->address);
    else if (entry->deed == DEED_LEAVE)
      run->calls.cpus[cpu].leaving = entry->address;
    else if (entry->deed == DEED_SWITCH)
      calls_switch(&run->calls, &run->calls.cpus[cpu], entry->address);
    else if (entry->repeated)
      repeat_access(run, cpu, &run->repeats[cpu], entry, simulate_access);
    else
      simulate_access(run, cpu, entry);
  }
}

static void trace_one(struct run *run, uint32_t cpu, const struct journal_entry *access) {
  (void)cpu;
  trace_access(run->tracing.writer, access->address, access->width, access->deed, access->site);
}

static void trace(void *context, const struct journal_batch *batch) {
  struct run *run = context;
  const uint32_t cpu = batch->cpu;
  struct repeats *repeats = &run->traced_repeats[cpu];
  if (!tracing_begin(&run->tracing, cpu)) return;
  for (uint32_t i = 0; i < batch->count; i++) {
    const struct journal_entry *entry = &batch->entries[i];
    const struct journal_entry *later = entry + AHEAD;
    if (i + AHEAD < batch->count && later->deed <= DEED_ATOMIC)
      trace_expect(run->tracing.writer, cpu, later->address, later->site);
    if (entry->deed == DEED_BLOCK) {
      if (repeats->pending) end_repeats(run, cpu, repeats, trace_one);
    } else if (entry->deed <= DEED_ATOMIC) {
      if (entry->repeated)
        repeat_access(run, cpu, repeats, entry, trace_one);
      else
        trace_one(run, cpu, entry);
    }
  }
  tracing_end(&run->tracing);
}

void follow_open(struct run *run) {
  journal_add_reader(&run->journal, simulate);
  if (run->tracing.writer) journal_add_reader(&run->journal, trace);
}

void follow_settle(struct run *run) {
  journal_settle(&run->journal);
  for (uint32_t cpu = 0; cpu < run->options.coherence.cpus; cpu++) {
    end_repeats(run, cpu, &run->repeats[cpu], simulate_access);
    if (!run->tracing.writer || !run->traced_repeats[cpu].pending) continue;
    tracing_begin(&run->tracing, cpu);
    end_repeats(run, cpu, &run->traced_repeats[cpu], trace_one);
    tracing_end(&run->tracing);
  }
}
