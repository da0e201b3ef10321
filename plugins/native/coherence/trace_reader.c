// SPDX-License-Identifier: GPL-2.0-or-later
// Reads a trace that may be damaged or hostile: every number is checked before it is used.
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "trace.h"
#include "trace_format.h"

enum { PROBLEM_BYTES = 120, READ_AHEAD = 64 };

struct block_head {
  uint32_t type;
  uint32_t unpacked;  // bytes
  uint32_t packed;    // bytes
  uint32_t crc;       // of the packed bytes
  uint32_t entries;
};

// Bytes of the block in hand: from the next one to read to before `end`.
struct part {
  uint32_t next;
  uint32_t end;
};

struct trace_reader {
  FILE *in;
  uint8_t *packed;
  uint8_t *block;
  struct block_head head;            // of the block in hand
  struct part parts[TRACE_STREAMS];  // one is all of it where it is no block of events, or of version 1
  uint32_t left;                     // events of it that are not read
  uint32_t version;
  uint64_t *addresses;  // the last one by slot
  struct trace_event last;
  struct trace_event ready[READ_AHEAD];  // read and not yet handed out: those from `given` to before `there`
  uint32_t given;
  uint32_t there;
  struct trace_settings settings;
  uint64_t *ips;
  uint32_t sites;
  struct trace_counts counts;  // as stated at the end
  uint64_t events;             // read
  uint64_t slices;             // of them
  bool begun;
  bool ended;
  char problem[PROBLEM_BYTES];
};

struct trace_reader *trace_reader_create(FILE *in) {
  struct trace_reader *reader = calloc(1, sizeof *reader);
  if (reader == NULL) return NULL;
  reader->in = in;
  reader->block = malloc(TRACE_BLOCK_BYTES);
  reader->packed = malloc(compressBound(TRACE_BLOCK_BYTES));
  reader->addresses = calloc(TRACE_SLOTS, sizeof *reader->addresses);
  if (reader->block != NULL && reader->packed != NULL && reader->addresses != NULL) return reader;
  trace_reader_destroy(reader);
  return NULL;
}

void trace_reader_destroy(struct trace_reader *reader) {
  if (reader == NULL) return;
  free(reader->block);
  free(reader->packed);
  free(reader->addresses);
  free(reader->ips);
  free(reader);
}

// Keeps the first problem. Always false, for the caller to hand on.
static bool fail(struct trace_reader *reader, const char *format, ...) {
  if (reader->problem[0] != '\0') return false;
  va_list values;
  va_start(values, format);
  vsnprintf(reader->problem, sizeof reader->problem, format, values);
  va_end(values);
  return false;
}

static bool read_bytes(struct trace_reader *reader, void *to, size_t size) {
  if (fread(to, 1, size, reader->in) == size) return true;
  if (ferror(reader->in)) return fail(reader, "the trace cannot be read to its end");
  return fail(reader, "the trace is cut off after %llu events", (unsigned long long)reader->events);
}

static uint32_t get_word(const uint8_t *from) {
  return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static bool read_head(struct trace_reader *reader) {
  uint8_t bytes[TRACE_HEAD_BYTES];
  if (!read_bytes(reader, bytes, sizeof bytes)) return false;
  reader->head = (struct block_head){.type = get_word(bytes),
                                     .unpacked = get_word(bytes + 4),
                                     .packed = get_word(bytes + 8),
                                     .crc = get_word(bytes + 12),
                                     .entries = get_word(bytes + 16)};
  if (reader->head.unpacked <= TRACE_BLOCK_BYTES && reader->head.packed <= compressBound(TRACE_BLOCK_BYTES))
    return true;
  return fail(reader, "a block of the trace is larger than any writer makes it");
}

static bool read_block(struct trace_reader *reader) {
  if (!read_head(reader) || !read_bytes(reader, reader->packed, reader->head.packed)) return false;
  if (crc32(0, reader->packed, reader->head.packed) != reader->head.crc)
    return fail(reader, "a block of the trace does not match its checksum");
  uLongf unpacked = reader->head.unpacked;
  if (uncompress(reader->block, &unpacked, reader->packed, reader->head.packed) != Z_OK ||
      unpacked != reader->head.unpacked)
    return fail(reader, "a block of the trace cannot be unpacked");
  memset(reader->parts, 0, sizeof reader->parts);
  reader->parts[0].end = reader->head.unpacked;
  return true;
}

static struct part *part_of(struct trace_reader *reader, enum trace_stream stream) {
  return &reader->parts[reader->version == TRACE_ONE_STREAM ? 0 : stream];
}

static bool get_byte(struct trace_reader *reader, struct part *part, uint32_t *byte) {
  *byte = 0;
  if (part->next >= part->end) return fail(reader, "a block of the trace ends inside an entry");
  *byte = reader->block[part->next++];
  return true;
}

static bool get_varint(struct trace_reader *reader, struct part *part, uint64_t *value) {
  *value = 0;
  for (uint32_t shift = 0; shift < 64; shift += 7) {
    uint32_t byte;
    if (!get_byte(reader, part, &byte)) return false;
    if (shift == 63 && byte > 1) break;
    *value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return fail(reader, "a number of the trace has more than 64 bits");
}

static bool set_cpu(struct trace_reader *reader, uint64_t cpu) {
  if (cpu >= reader->settings.cpus) return fail(reader, "an event of the trace is of a CPU that it has not");
  reader->last.cpu = (uint32_t)cpu;
  return true;
}

static bool set_slice(struct trace_reader *reader, uint64_t slice) {
  if (slice > UINT32_MAX || slice + 1 < reader->slices)
    return fail(reader, "the slices of the trace are out of order");
  reader->last.slice = (uint32_t)slice;
  return true;
}

static bool at_end(const struct trace_reader *reader) {
  for (int stream = 0; stream < TRACE_STREAMS; ++stream) {
    if (reader->parts[stream].next != reader->parts[stream].end) return false;
  }
  return true;
}

// Blocks that hold one thing hold nothing else.
static bool at_single_end(struct trace_reader *reader) {
  return (reader->head.entries == 1 && at_end(reader)) ||
         fail(reader, "a block of the trace goes on behind its entry");
}

static bool read_settings(struct trace_reader *reader) {
  uint8_t magic[TRACE_MAGIC_BYTES];
  if (!read_bytes(reader, magic, sizeof magic)) return false;
  if (memcmp(magic, TRACE_MAGIC, sizeof magic) != 0) return fail(reader, "this is not a trace");
  struct part *bytes = reader->parts;
  if (!read_block(reader) || !get_byte(reader, bytes, &reader->version) ||
      !get_byte(reader, bytes, &reader->settings.cpus))
    return false;
  if (reader->head.type != TRACE_SETTINGS) return fail(reader, "the trace does not begin with its settings");
  if (reader->version != TRACE_VERSION && reader->version != TRACE_ONE_STREAM)
    return fail(reader, "the trace has version %u; this reads versions 1 and 2", reader->version);
  if (reader->settings.cpus == 0 || reader->settings.cpus > COHERENCE_MAX_CPUS)
    return fail(reader, "the trace has %u CPUs; 1 to 64 are possible", reader->settings.cpus);
  for (uint32_t cpu = 0; cpu < reader->settings.cpus; ++cpu) {
    uint32_t node;
    if (!get_byte(reader, bytes, &node)) return false;
    reader->settings.node_of_cpu[cpu] = (uint8_t)node;
  }
  reader->begun = true;
  return at_single_end(reader);
}

static bool part_streams(struct trace_reader *reader) {
  struct part *parts = reader->parts;
  uint64_t heads;
  uint64_t sites;
  if (!get_varint(reader, &parts[0], &heads) || !get_varint(reader, &parts[0], &sites)) return false;
  const uint32_t left = parts[0].end - parts[0].next;
  if (heads > left || sites > left - heads)
    return fail(reader, "a block of the trace has streams that are longer than it");
  parts[STREAM_ADDRESSES].end = parts[0].end;
  parts[STREAM_HEADS].end = parts[STREAM_SITES].next = parts[0].next + (uint32_t)heads;
  parts[STREAM_SITES].end = parts[STREAM_ADDRESSES].next = parts[STREAM_SITES].next + (uint32_t)sites;
  return true;
}

static bool begin_events(struct trace_reader *reader) {
  uint64_t slice;
  uint64_t cpu;
  if (reader->version != TRACE_ONE_STREAM && !part_streams(reader)) return false;
  struct part *heads = part_of(reader, STREAM_HEADS);
  if (!get_varint(reader, heads, &slice) || !get_varint(reader, heads, &cpu)) return false;
  if (reader->head.entries == 0) return fail(reader, "a block of the trace has no events");
  reader->left = reader->head.entries;
  reader->last.address = 0;
  reader->last.site = 0;
  return set_slice(reader, slice) && set_cpu(reader, cpu);
}

static bool read_sites(struct trace_reader *reader) {
  const uint32_t entries = reader->head.entries;
  if (entries > reader->head.unpacked || entries > TRACE_MAX_SITES - reader->sites)
    return fail(reader, "the trace has more sites than it can");
  uint64_t *ips = realloc(reader->ips, ((size_t)reader->sites + entries + 1) * sizeof *ips);
  if (ips == NULL) return fail(reader, "there is no memory for the sites of the trace");
  reader->ips = ips;
  for (uint32_t entry = 0; entry < entries; ++entry) {
    uint64_t step;
    if (!get_varint(reader, reader->parts, &step)) return false;
    ips[reader->sites] = (reader->sites > 0 ? ips[reader->sites - 1] : 0) + unzigzag(step);
    ++reader->sites;
  }
  return at_end(reader) || fail(reader, "a block of the trace goes on behind its sites");
}

static bool read_end(struct trace_reader *reader) {
  struct trace_counts *counts = &reader->counts;
  struct part *numbers = reader->parts;
  if (!get_varint(reader, numbers, &counts->seen) || !get_varint(reader, numbers, &counts->events) ||
      !get_varint(reader, numbers, &counts->slices) || !get_varint(reader, numbers, &counts->dropped))
    return false;
  if (counts->events != reader->events || counts->slices != reader->slices)
    return fail(reader, "the trace says that it has %llu events and has %llu",
                (unsigned long long)counts->events, (unsigned long long)reader->events);
  reader->ended = at_single_end(reader);
  return reader->ended;
}

// The next block with events, or the end.
static bool next_block(struct trace_reader *reader) {
  if (!read_block(reader)) return false;
  switch (reader->head.type) {
    case TRACE_EVENTS:
      return reader->sites == 0 ? begin_events(reader)
                                : fail(reader, "the trace has events behind its sites");
    case TRACE_SITES:
      return read_sites(reader);
    case TRACE_LAST:
      return read_end(reader);
    default:
      return fail(reader, "the trace has a block of unknown type %u", reader->head.type);
  }
}

static bool get_head(struct trace_reader *reader, uint32_t *head) {
  struct part *heads = part_of(reader, STREAM_HEADS);
  if (!get_byte(reader, heads, head)) return false;
  if ((*head & EVENT_KIND_MASK) != EVENT_NEXT_SLICE) return true;
  if (!set_slice(reader, (uint64_t)reader->last.slice + 1) || !set_cpu(reader, *head >> EVENT_CPU_SHIFT))
    return false;
  if (!get_byte(reader, heads, head)) return false;
  if ((*head & EVENT_KIND_MASK) != EVENT_NEXT_SLICE) return true;
  return fail(reader, "the trace has a slice without events");
}

static bool get_width(struct trace_reader *reader, uint32_t head) {
  const uint32_t class = head >> EVENT_WIDTH_SHIFT & EVENT_WIDTH_MASK;
  reader->last.width = 1u << class;
  if (class != EVENT_WIDTH_FOLLOWS) return true;
  if (!get_byte(reader, part_of(reader, STREAM_HEADS), &reader->last.width)) return false;
  return reader->last.width != 0 || fail(reader, "an event of the trace has no bytes");
}

static bool get_site(struct trace_reader *reader, uint32_t head) {
  uint64_t step = head >> EVENT_SITE_SHIFT;
  if (step == 0) {
    if (!get_varint(reader, part_of(reader, STREAM_SITES), &step)) return false;
    step = unzigzag(step);
  }
  const uint64_t site = reader->last.site + step;
  if (site > UINT32_MAX) return fail(reader, "a site of the trace is out of range");
  reader->last.site = (uint32_t)site;
  return true;
}

static bool get_access(struct trace_reader *reader) {
  uint32_t head;
  if (!get_head(reader, &head) || !get_width(reader, head) || !get_site(reader, head)) return false;
  reader->last.kind = (enum coherence_kind)(head & EVENT_KIND_MASK);
  reader->slices = (uint64_t)reader->last.slice + 1;
  return true;
}

static bool get_address(struct trace_reader *reader, struct trace_event *event) {
  uint64_t step;
  if (!get_varint(reader, part_of(reader, STREAM_ADDRESSES), &step)) return false;
  uint64_t *slot = &reader->addresses[trace_slot(event->site, event->cpu)];
  event->address = (reader->version == TRACE_ONE_STREAM ? reader->last.address : *slot) + unzigzag(step);
  *slot = reader->last.address = event->address;
  return true;
}

// Slots lie all over memory, so those of the next events are fetched before the first address is read.
static void read_ahead(struct trace_reader *reader) {
  const uint32_t most = reader->version == TRACE_ONE_STREAM ? 1 : READ_AHEAD;
  uint32_t count = 0;
  while (count < most && count < reader->left && get_access(reader)) {
    __builtin_prefetch(&reader->addresses[trace_slot(reader->last.site, reader->last.cpu)], 1);
    reader->ready[count++] = reader->last;
  }
  reader->given = reader->there = 0;
  while (reader->there < count && get_address(reader, &reader->ready[reader->there])) ++reader->there;
  reader->events += reader->there;
  reader->left -= reader->there;
  if (reader->left > 0 || at_end(reader)) return;
  fail(reader, "a block of the trace goes on behind its events");
  --reader->there;
}

enum trace_status trace_next(struct trace_reader *reader, struct trace_event *event) {
  if (reader->given == reader->there) {
    if (reader->problem[0] == '\0' && !reader->begun) read_settings(reader);
    while (reader->problem[0] == '\0' && !reader->ended && reader->left == 0) next_block(reader);
    if (reader->problem[0] == '\0' && !reader->ended) read_ahead(reader);
  }
  if (reader->given < reader->there) {
    *event = reader->ready[reader->given++];
    return TRACE_EVENT;
  }
  return reader->problem[0] == '\0' ? TRACE_END : TRACE_DAMAGED;
}

const char *trace_problem(const struct trace_reader *reader) {
  return reader->problem[0] == '\0' ? NULL : reader->problem;
}

const struct trace_settings *trace_reader_settings(const struct trace_reader *reader) {
  return &reader->settings;
}

const uint64_t *trace_reader_ips(const struct trace_reader *reader, uint32_t *sites) {
  *sites = reader->ended ? reader->sites : 0;
  return reader->ips;
}

struct trace_counts trace_reader_counts(const struct trace_reader *reader) { return reader->counts; }
