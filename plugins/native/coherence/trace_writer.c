// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "slice_filter.h"
#include "trace.h"
#include "trace_format.h"

enum {
  NO_CPU = COHERENCE_MAX_CPUS,
  // A guest waits for this: less than half the time of the default (6), for files 6 % larger.
  PACKING_LEVEL = 4
};

struct stream {
  uint8_t *bytes;
  uint32_t used;
};

struct trace_writer {
  FILE *out;
  uint64_t max_bytes;
  struct slice_filter filter;
  uint32_t announced;  // CPU that runs from the next access on
  uint32_t running;    // CPU of the last access; NO_CPU before the first
  uint64_t slices;     // begun
  // The block being filled; what is not of events has one stream.
  struct stream streams[TRACE_STREAMS];
  uint32_t events;
  uint64_t block_slices;  // slices begun up to its last event
  uint32_t site;          // of its last event
  uint64_t *addresses;    // the last one by slot
  uint8_t *block;         // its streams, one after the other
  uint8_t *packed;        // room for any packed block
  struct trace_counts counts;
  bool full;
  int error;  // errno of the first write that failed
};

static void put_byte(struct stream *stream, uint32_t byte) { stream->bytes[stream->used++] = (uint8_t)byte; }

static void put_varint(struct stream *stream, uint64_t value) {
  for (; value >= 0x80; value >>= 7) put_byte(stream, (uint32_t)(value & 0x7f) | 0x80);
  put_byte(stream, (uint32_t)value);
}

static uint32_t used(const struct trace_writer *writer) {
  uint32_t bytes = 0;
  for (int stream = 0; stream < TRACE_STREAMS; ++stream) bytes += writer->streams[stream].used;
  return bytes;
}

static void put_word(uint8_t *to, uint32_t word) {
  for (int byte = 0; byte < 4; ++byte) to[byte] = (uint8_t)(word >> 8 * byte);
}

static void write_bytes(struct trace_writer *writer, const void *bytes, size_t size) {
  if (writer->error != 0) return;
  errno = 0;
  if (fwrite(bytes, 1, size, writer->out) == size) {
    writer->counts.bytes += size;
  } else {
    writer->error = errno != 0 ? errno : EIO;
  }
}

// Lays the streams out as a block of this type, and empties them. Returns its bytes.
static uint32_t assemble(struct trace_writer *writer, enum trace_block type) {
  struct stream block = {writer->block, 0};
  if (type == TRACE_EVENTS) {
    put_varint(&block, writer->streams[STREAM_HEADS].used);
    put_varint(&block, writer->streams[STREAM_SITES].used);
  }
  for (int stream = 0; stream < TRACE_STREAMS; ++stream) {
    memcpy(block.bytes + block.used, writer->streams[stream].bytes, writer->streams[stream].used);
    block.used += writer->streams[stream].used;
    writer->streams[stream].used = 0;
  }
  return block.used;
}

// Packs the block and writes it, if it stays within `limit` bytes of the file. The streams are empty
// afterwards.
static bool write_block(struct trace_writer *writer, enum trace_block type, uint32_t entries,
                        uint64_t limit) {
  uLongf packed = compressBound(TRACE_BLOCK_BYTES);
  const uint32_t unpacked = assemble(writer, type);
  if (compress2(writer->packed, &packed, writer->block, unpacked, PACKING_LEVEL) != Z_OK) {
    if (writer->error == 0) writer->error = ENOMEM;
    return false;
  }
  const bool fits = writer->counts.bytes + TRACE_HEAD_BYTES + packed <= limit;
  if (fits) {
    uint8_t head[TRACE_HEAD_BYTES];
    const uint32_t crc = (uint32_t)crc32(0, writer->packed, (uInt)packed);
    const uint32_t words[] = {type, unpacked, (uint32_t)packed, crc, entries};
    for (int word = 0; word < 5; ++word) put_word(head + 4 * word, words[word]);
    write_bytes(writer, head, sizeof head);
    write_bytes(writer, writer->packed, packed);
  }
  return fits && writer->error == 0;
}

static void flush_events(struct trace_writer *writer) {
  if (writer->events == 0) return;
  if (write_block(writer, TRACE_EVENTS, writer->events, writer->max_bytes)) {
    writer->counts.events += writer->events;
    writer->counts.slices = writer->block_slices;
  } else {
    // What follows is left out too, so that the file holds the beginning of the run and nothing else.
    writer->counts.dropped += writer->events;
    writer->full = true;
  }
  writer->events = 0;
}

static void write_settings(struct trace_writer *writer, const struct trace_settings *settings) {
  write_bytes(writer, TRACE_MAGIC, TRACE_MAGIC_BYTES);
  struct stream *bytes = &writer->streams[STREAM_HEADS];
  put_byte(bytes, TRACE_VERSION);
  put_byte(bytes, settings->cpus);
  for (uint32_t cpu = 0; cpu < settings->cpus; ++cpu) put_byte(bytes, settings->node_of_cpu[cpu]);
  write_block(writer, TRACE_SETTINGS, 1, UINT64_MAX);
}

static void destroy(struct trace_writer *writer) {
  slice_filter_free(&writer->filter);
  for (int stream = 0; stream < TRACE_STREAMS; ++stream) free(writer->streams[stream].bytes);
  free(writer->addresses);
  free(writer->block);
  free(writer->packed);
  free(writer);
}

struct trace_writer *trace_writer_create(FILE *out, const struct trace_settings *settings,
                                         uint64_t max_bytes) {
  struct trace_writer *writer = calloc(1, sizeof *writer);
  if (writer == NULL) return NULL;
  writer->out = out;
  writer->max_bytes = max_bytes;
  writer->running = NO_CPU;
  writer->block = malloc(TRACE_BLOCK_BYTES);
  writer->packed = malloc(compressBound(TRACE_BLOCK_BYTES));
  writer->addresses = calloc(TRACE_SLOTS, sizeof *writer->addresses);
  bool room = slice_filter_init(&writer->filter) && writer->block && writer->packed && writer->addresses;
  for (int stream = 0; stream < TRACE_STREAMS; ++stream) {
    writer->streams[stream].bytes = malloc(TRACE_BLOCK_BYTES);
    room = room && writer->streams[stream].bytes != NULL;
  }
  if (!room) {
    destroy(writer);
    return NULL;
  }
  write_settings(writer, settings);
  return writer;
}

void trace_expect(const struct trace_writer *writer, uint32_t cpu, uint64_t address, uint32_t site) {
  slice_filter_expect(&writer->filter, address);
  __builtin_prefetch(&writer->addresses[trace_slot(site, cpu)], 1);
}

void trace_slice(struct trace_writer *writer, uint32_t cpu) { writer->announced = cpu; }

static void begin_block(struct trace_writer *writer) {
  put_varint(&writer->streams[STREAM_HEADS], writer->slices - 1);
  put_varint(&writer->streams[STREAM_HEADS], writer->running);
  writer->site = 0;
}

static void put_width_and_site(struct trace_writer *writer, uint32_t width, enum coherence_kind kind,
                               uint32_t site) {
  const bool power = (width & (width - 1)) == 0 && width <= 64;
  const uint32_t class = power ? (uint32_t)__builtin_ctz(width) : EVENT_WIDTH_FOLLOWS;
  const uint64_t step = (uint64_t)site - writer->site;
  const uint32_t near = step >= 1 && step <= EVENT_SITE_MAX ? (uint32_t)step : 0;
  struct stream *heads = &writer->streams[STREAM_HEADS];
  put_byte(heads, (uint32_t)kind | class << EVENT_WIDTH_SHIFT | near << EVENT_SITE_SHIFT);
  if (!power) put_byte(heads, width);
  if (near == 0) put_varint(&writer->streams[STREAM_SITES], zigzag(step));
}

static void put_event(struct trace_writer *writer, uint64_t address, uint32_t width, enum coherence_kind kind,
                      uint32_t site, bool begins_slice) {
  if (writer->events == 0) {
    begin_block(writer);
  } else if (begins_slice) {
    put_byte(&writer->streams[STREAM_HEADS], EVENT_NEXT_SLICE | writer->running << EVENT_CPU_SHIFT);
  }
  put_width_and_site(writer, width, kind, site);
  uint64_t *last = &writer->addresses[trace_slot(site, writer->running)];
  put_varint(&writer->streams[STREAM_ADDRESSES], zigzag(address - *last));
  *last = address;
  writer->site = site;
  writer->block_slices = writer->slices;
  ++writer->events;
}

void trace_access(struct trace_writer *writer, uint64_t address, uint32_t width, enum coherence_kind kind,
                  uint32_t site) {
  ++writer->counts.seen;
  const bool begins_slice = writer->announced != writer->running;
  if (begins_slice) {
    slice_filter_restart(&writer->filter);
    writer->running = writer->announced;
    ++writer->slices;
  }
  if (slice_filter_repeats(&writer->filter, address, width, kind)) return;
  if (used(writer) + TRACE_LENGTHS + TRACE_EVENT_BYTES > TRACE_BLOCK_BYTES) flush_events(writer);
  if (writer->full) {
    ++writer->counts.dropped;
  } else {
    put_event(writer, address, width, kind, site, begins_slice);
  }
}

struct trace_counts trace_writer_counts(struct trace_writer *writer) {
  flush_events(writer);
  return writer->counts;
}

static void write_sites(struct trace_writer *writer, const uint64_t *ips, uint32_t sites) {
  uint64_t last = 0;
  uint32_t entries = 0;
  for (uint32_t site = 0; site < sites; ++site) {
    put_varint(&writer->streams[STREAM_SITES], zigzag(ips[site] - last));
    last = ips[site];
    ++entries;
    if (used(writer) + TRACE_EVENT_BYTES <= TRACE_BLOCK_BYTES && site + 1 < sites) continue;
    write_block(writer, TRACE_SITES, entries, UINT64_MAX);
    entries = 0;
  }
}

static void write_end(struct trace_writer *writer) {
  struct stream *counts = &writer->streams[STREAM_HEADS];
  put_varint(counts, writer->counts.seen);
  put_varint(counts, writer->counts.events);
  put_varint(counts, writer->counts.slices);
  put_varint(counts, writer->counts.dropped);
  write_block(writer, TRACE_LAST, 1, UINT64_MAX);
}

int trace_writer_finish(struct trace_writer *writer, const uint64_t *ips, uint32_t sites) {
  flush_events(writer);
  write_sites(writer, ips, sites < TRACE_MAX_SITES ? sites : TRACE_MAX_SITES);
  write_end(writer);
  if (fflush(writer->out) != 0 && writer->error == 0) writer->error = errno;
  const int error = writer->error;
  destroy(writer);
  return error;
}
