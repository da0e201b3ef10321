// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Rows of one kind, gathered to be sorted.
struct rows {
  char *items;
  size_t item_bytes;
  size_t count;
  size_t room;
  bool failed;  // there was no memory
};

struct access_row {
  uint64_t ip;
  struct coherence_record record;
};

struct pair_row {
  uint64_t victim_ip;
  uint64_t writer_ip;
  struct coherence_pair pair;
};

struct caller_row {
  uint64_t ip;
  struct coherence_caller caller;
};

struct gathering {
  const struct recording *recording;
  struct rows lines;
  struct rows accesses;
  struct rows pairs;
  struct rows callers;
};

static void add_row(struct rows *rows, const void *item) {
  if (rows->count == rows->room) {
    const size_t room = rows->room == 0 ? 256 : rows->room * 2;
    char *items = rows->failed ? NULL : realloc(rows->items, room * rows->item_bytes);
    if (items == NULL) {
      rows->failed = true;
      return;
    }
    rows->items = items;
    rows->room = room;
  }
  memcpy(rows->items + rows->count++ * rows->item_bytes, item, rows->item_bytes);
}

static uint64_t ip_of(const struct recording *recording, uint32_t site) {
  return site < recording->sites ? recording->ips[site] : 0;
}

static void add_line(void *context, const struct coherence_line *line) {
  add_row(&((struct gathering *)context)->lines, line);
}

static void add_access(void *context, const struct coherence_record *record) {
  struct gathering *gathering = context;
  const struct access_row row = {.ip = ip_of(gathering->recording, record->site), .record = *record};
  add_row(&gathering->accesses, &row);
}

static void add_pair(void *context, const struct coherence_pair *pair) {
  struct gathering *gathering = context;
  const struct pair_row row = {.victim_ip = ip_of(gathering->recording, pair->victim_site),
                               .writer_ip = ip_of(gathering->recording, pair->writer_site),
                               .pair = *pair};
  add_row(&gathering->pairs, &row);
}

static void add_caller(void *context, const struct coherence_caller *caller) {
  struct gathering *gathering = context;
  const struct caller_row row = {.ip = ip_of(gathering->recording, caller->site), .caller = *caller};
  add_row(&gathering->callers, &row);
}

// The first difference of two lists of numbers, as qsort wants it.
static int compare_numbers(const uint64_t *left, const uint64_t *right, size_t count) {
  for (size_t index = 0; index < count; ++index)
    if (left[index] != right[index]) return left[index] < right[index] ? -1 : 1;
  return 0;
}

static int compare_lines(const void *left, const void *right) {
  return compare_numbers(&((const struct coherence_line *)left)->address,
                         &((const struct coherence_line *)right)->address, 1);
}

static int compare_accesses(const void *left_row, const void *right_row) {
  const struct access_row *left = left_row;
  const struct access_row *right = right_row;
  const struct coherence_record *a = &left->record;
  const struct coherence_record *b = &right->record;
  const uint64_t of_left[] = {a->line, a->offset, a->width, left->ip, a->kind, a->cpu};
  const uint64_t of_right[] = {b->line, b->offset, b->width, right->ip, b->kind, b->cpu};
  return compare_numbers(of_left, of_right, sizeof of_left / sizeof *of_left);
}

static int compare_pairs(const void *left_row, const void *right_row) {
  const struct pair_row *left = left_row;
  const struct pair_row *right = right_row;
  const struct coherence_pair *a = &left->pair;
  const struct coherence_pair *b = &right->pair;
  const uint64_t of_left[] = {a->line,         a->victim_offset, a->victim_width,
                              left->victim_ip, a->victim_kind,   a->writer_offset,
                              a->writer_width, left->writer_ip,  a->true_sharing};
  const uint64_t of_right[] = {b->line,          b->victim_offset, b->victim_width,
                               right->victim_ip, b->victim_kind,   b->writer_offset,
                               b->writer_width,  right->writer_ip, b->true_sharing};
  return compare_numbers(of_left, of_right, sizeof of_left / sizeof *of_left);
}

static int compare_callers(const void *left_row, const void *right_row) {
  const struct caller_row *left = left_row;
  const struct caller_row *right = right_row;
  const struct coherence_caller *a = &left->caller;
  const struct coherence_caller *b = &right->caller;
  const uint64_t of_left[] = {a->line, a->offset, a->width, left->ip, a->kind, a->path};
  const uint64_t of_right[] = {b->line, b->offset, b->width, right->ip, b->kind, b->path};
  return compare_numbers(of_left, of_right, sizeof of_left / sizeof *of_left);
}

static void merge_access(void *into, const void *from) {
  uint64_t *sum = (uint64_t *)&((struct access_row *)into)->record.events;
  const uint64_t *part = (const uint64_t *)&((const struct access_row *)from)->record.events;
  for (size_t word = 0; word < sizeof(struct coherence_events) / sizeof *sum; ++word) sum[word] += part[word];
}

static void merge_pair(void *into, const void *from) {
  struct coherence_pair *sum = &((struct pair_row *)into)->pair;
  const struct coherence_pair *part = &((const struct pair_row *)from)->pair;
  sum->local += part->local;
  sum->remote += part->remote;
  sum->shadowed += part->shadowed;
}

static void merge_caller(void *into, const void *from) {
  ((struct caller_row *)into)->caller.count += ((const struct caller_row *)from)->caller.count;
}

// Sorts rows and adds up those that compare equal.
static void sort_and_merge(struct rows *rows, int (*compare)(const void *, const void *),
                           void (*merge)(void *, const void *)) {
  if (rows->count == 0) return;
  qsort(rows->items, rows->count, rows->item_bytes, compare);
  char *last = rows->items;
  for (size_t index = 1; index < rows->count; ++index) {
    const char *item = rows->items + index * rows->item_bytes;
    if (compare(last, item) == 0) {
      merge(last, item);
    } else {
      last += rows->item_bytes;
      memmove(last, item, rows->item_bytes);
    }
  }
  rows->count = (size_t)(last - rows->items) / rows->item_bytes + 1;
}

static void write_setting(FILE *out, const char *name, const char *value) {
  fprintf(out, "set %s ", name);
  for (const char *letter = value; *letter != '\0'; ++letter)
    fputc((unsigned char)*letter < ' ' || *letter == 0x7f ? '?' : *letter, out);
  fputc('\n', out);
}

static void write_settings(FILE *out, const struct recording *recording) {
  const struct coherence_config *config = coherence_configuration(recording->sim);
  uint64_t nodes[4] = {0};  // a bit for every number of a node
  for (uint32_t cpu = 0; cpu < config->cpus; ++cpu)
    nodes[config->node_of_cpu[cpu] / 64] |= UINT64_C(1) << config->node_of_cpu[cpu] % 64;
  int node_count = 0;
  for (int word = 0; word < 4; ++word) node_count += __builtin_popcountll(nodes[word]);
  fprintf(out, "set line_bytes %" PRIu32 "\nset cpus %" PRIu32 "\nset nodes %d\n", config->line_bytes,
          config->cpus, node_count);
  fprintf(out, "set cache_bytes %" PRIu64 "\n", config->cache_bytes);
  if (config->cache_bytes != 0) fprintf(out, "set cache_ways %" PRIu32 "\n", config->cache_ways);
  fprintf(out, "set adjacent %" PRIu32 "\nset plugin 1\n", config->adjacent);
  for (uint32_t index = 0; index < recording->setting_count; ++index)
    write_setting(out, recording->settings[index].name, recording->settings[index].value);
  for (uint32_t cpu = 0; cpu < config->cpus; ++cpu)
    fprintf(out, "node %" PRIu32 " %u\n", cpu, (unsigned)config->node_of_cpu[cpu]);
}

static void write_counts(FILE *out, const struct recording *recording) {
  const struct coherence_counts sum = coherence_count(recording->sim);
  const struct recording_count counts[] = {
      {"accesses", sum.accesses},
      {"spanning", sum.spanning},
      {"lines", sum.lines},
      {"contended", sum.contended},
      {"hits", sum.events.hits},
      {"hitm_local", sum.events.hitm_local},
      {"hitm_remote", sum.events.hitm_remote},
      {"shared_miss", sum.events.shared_miss},
      {"cold_miss", sum.events.cold_miss},
      {"upgrade", sum.events.upgrade},
      {"own_local", sum.events.own_local},
      {"own_remote", sum.events.own_remote},
      {"invalidated", sum.events.invalidated},
      {"invalidations", sum.invalidations},
      {"evictions", sum.evictions},
      {"prefetches", sum.prefetches},
      {"prefetch_upgrades", sum.prefetch_upgrades},
      {"true_sharing", sum.true_sharing},
      {"false_sharing", sum.false_sharing},
      {"dropped_lines", sum.dropped_lines},
      {"dropped_contended", sum.dropped_contended},
      {"dropped_accesses", sum.dropped_accesses},
      {"dropped_pairs", sum.dropped_pairs},
      {"dropped_callers", sum.dropped_callers},
  };
  for (size_t index = 0; index < sizeof counts / sizeof *counts; ++index)
    fprintf(out, "count %s %" PRIu64 "\n", counts[index].name, counts[index].value);
  for (uint32_t index = 0; index < recording->count_count; ++index)
    fprintf(out, "count %s %" PRIu64 "\n", recording->counts[index].name, recording->counts[index].value);
}

static void write_lines(FILE *out, const struct rows *rows, char low_space) {
  for (size_t index = 0; index < rows->count; ++index) {
    const struct coherence_line *line = &((const struct coherence_line *)rows->items)[index];
    fprintf(out, "line %" PRIx64 " %c %" PRIu64 " %" PRIu64 " %" PRIu32 "\n", line->address,
            line->address >> 63 ? 'k' : low_space, line->loads, line->stores, line->first_cpu);
  }
}

static char kind_letter(enum coherence_kind kind) { return "LSA"[kind]; }

static void write_accesses(FILE *out, const struct rows *rows) {
  for (size_t index = 0; index < rows->count; ++index) {
    const struct access_row *row = &((const struct access_row *)rows->items)[index];
    const struct coherence_record *record = &row->record;
    const struct coherence_events *events = &record->events;
    fprintf(out, "access %" PRIx64 " %" PRIu32 " %" PRIu32 " %" PRIx64 " %c %" PRIu32, record->line,
            record->offset, record->width, row->ip, kind_letter(record->kind), record->cpu);
    fprintf(out, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, events->hits,
            events->hitm_local, events->hitm_remote, events->shared_miss, events->cold_miss);
    fprintf(out, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", events->upgrade, events->own_local,
            events->own_remote, events->invalidated);
  }
}

static void write_pairs(FILE *out, const struct rows *rows) {
  for (size_t index = 0; index < rows->count; ++index) {
    const struct pair_row *row = &((const struct pair_row *)rows->items)[index];
    const struct coherence_pair *pair = &row->pair;
    fprintf(out, "pair %" PRIx64 " %" PRIu32 " %" PRIu32 " %" PRIx64 " %c", pair->line, pair->victim_offset,
            pair->victim_width, row->victim_ip, kind_letter(pair->victim_kind));
    fprintf(out, " %" PRIu32 " %" PRIu32 " %" PRIx64 " %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
            pair->writer_offset, pair->writer_width, row->writer_ip, pair->true_sharing ? "true" : "false",
            pair->local, pair->remote, pair->shadowed);
  }
}

static void write_paths(FILE *out, const struct recording *recording) {
  for (uint32_t number = 1; number < recording->path_count; ++number) {
    const uint64_t *callers = recording->paths[number].callers;
    fprintf(out, "path %" PRIu32, number);
    for (int index = 0; index < RECORDING_CALLERS && callers[index] != 0; ++index)
      fprintf(out, " %" PRIx64, callers[index]);
    fputc('\n', out);
  }
}

static void write_callers(FILE *out, const struct rows *rows) {
  for (size_t index = 0; index < rows->count; ++index) {
    const struct caller_row *row = &((const struct caller_row *)rows->items)[index];
    const struct coherence_caller *caller = &row->caller;
    fprintf(out, "caller %" PRIx64 " %" PRIu32 " %" PRIu32 " %" PRIx64 " %c %" PRIu32 " %" PRIu64 "\n",
            caller->line, caller->offset, caller->width, row->ip, kind_letter(caller->kind), caller->path,
            caller->count);
  }
}

static void gather(struct gathering *gathering) {
  struct coherence *sim = gathering->recording->sim;
  coherence_visit_lines(sim, add_line, gathering);
  coherence_visit_records(sim, add_access, gathering);
  coherence_visit_pairs(sim, add_pair, gathering);
  coherence_visit_callers(sim, add_caller, gathering);
  sort_and_merge(&gathering->accesses, compare_accesses, merge_access);
  sort_and_merge(&gathering->pairs, compare_pairs, merge_pair);
  sort_and_merge(&gathering->callers, compare_callers, merge_caller);
  if (gathering->lines.count > 0)
    qsort(gathering->lines.items, gathering->lines.count, gathering->lines.item_bytes, compare_lines);
}

static int write_all(FILE *out, const struct gathering *gathering) {
  errno = 0;
  fputs("linesmith-recording 2\n", out);
  write_settings(out, gathering->recording);
  write_counts(out, gathering->recording);
  write_lines(out, &gathering->lines, gathering->recording->low_space);
  write_accesses(out, &gathering->accesses);
  write_pairs(out, &gathering->pairs);
  write_paths(out, gathering->recording);
  write_callers(out, &gathering->callers);
  fputs("end\n", out);
  if (fflush(out) == 0 && !ferror(out)) return 0;
  return errno != 0 ? errno : EIO;
}

int recording_write(FILE *out, const struct recording *recording) {
  struct gathering gathering = {.recording = recording,
                                .lines = {.item_bytes = sizeof(struct coherence_line)},
                                .accesses = {.item_bytes = sizeof(struct access_row)},
                                .pairs = {.item_bytes = sizeof(struct pair_row)},
                                .callers = {.item_bytes = sizeof(struct caller_row)}};
  gather(&gathering);
  const bool failed = gathering.lines.failed || gathering.accesses.failed || gathering.pairs.failed ||
                      gathering.callers.failed;
  const int error = failed ? ENOMEM : write_all(out, &gathering);
  free(gathering.lines.items);
  free(gathering.accesses.items);
  free(gathering.pairs.items);
  free(gathering.callers.items);
  return error;
}
