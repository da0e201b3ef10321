// SPDX-License-Identifier: GPL-2.0-or-later
// A compact trace of memory accesses from which the misses under any layout can be computed again.
//
// CPUs run one at a time, in slices. Within a slice nobody else changes the caches, so an access whose bytes
// the slice has loaded or stored before (for a store: stored before) hits under every layout: it is left out.
// What remains has the same misses as the full stream, whatever lines its bytes are moved to, as long as
// caches never evict.
//
// File: "LSMTRACE", then blocks of a 20-byte little-endian head (type, bytes unpacked, bytes packed, crc32 of
// the packed bytes, events) and zlib data. Types: 1 settings, 2 events, 3 sites, 4 end.
#ifndef LINESMITH_TRACE_H
#define LINESMITH_TRACE_H

#include <stdint.h>
#include <stdio.h>

#include "coherence.h"

#ifdef __cplusplus
extern "C" {
#endif

struct trace_settings {
  uint32_t cpus;                            // 1 to COHERENCE_MAX_CPUS
  uint8_t node_of_cpu[COHERENCE_MAX_CPUS];  // NUMA node of each CPU
};

struct trace_event {
  uint64_t address;
  uint32_t site;
  uint32_t width;  // bytes, 1 to COHERENCE_MAX_WIDTH
  uint32_t cpu;
  uint32_t slice;  // number of the slice, from 0
  enum coherence_kind kind;
};

struct trace_counts {
  uint64_t seen;     // accesses given to the writer
  uint64_t events;   // events in the file
  uint64_t slices;   // slices in the file
  uint64_t dropped;  // events that found the file full: everything after the last event of the file
  uint64_t bytes;    // of the file so far
};

struct trace_writer;

// Starts a trace at the present position of `out`, which stays the caller's. At most `max_bytes` are written,
// except for the list of sites and the end mark. NULL when there is no memory.
struct trace_writer *trace_writer_create(FILE *out, const struct trace_settings *settings,
                                         uint64_t max_bytes);

// From here on `cpu` runs, alone. Slices of one CPU that follow each other are one.
void trace_slice(struct trace_writer *writer, uint32_t cpu);

// Brings what an access to come will look at into the caches of the host.
void trace_expect(const struct trace_writer *writer, uint32_t cpu, uint64_t address, uint32_t site);

// One access of the CPU whose slice it is; `width` 1 to COHERENCE_MAX_WIDTH.
void trace_access(struct trace_writer *writer, uint64_t address, uint32_t width, enum coherence_kind kind,
                  uint32_t site);

// Writes the events that wait for their block to fill, so that the counts are those of the file.
struct trace_counts trace_writer_counts(struct trace_writer *writer);

// Writes what is left, the instruction address of each site (`ips[site]`), and the end mark. Returns 0, or
// the errno of the first write that failed. Frees the writer; does not close the file.
int trace_writer_finish(struct trace_writer *writer, const uint64_t *ips, uint32_t sites);

struct trace_reader;

// Reads a trace from the present position of `in`, which stays the caller's. NULL when there is no memory;
// anything wrong with the file is told by trace_next.
struct trace_reader *trace_reader_create(FILE *in);
void trace_reader_destroy(struct trace_reader *reader);

enum trace_status {
  TRACE_EVENT,   // *event is the next one
  TRACE_END,     // the end mark was read: the trace is whole
  TRACE_DAMAGED  // trace_problem says what is wrong; nothing more can be read
};
enum trace_status trace_next(struct trace_reader *reader, struct trace_event *event);

// What is wrong with the file, as a sentence without its full stop; NULL when nothing is so far.
const char *trace_problem(const struct trace_reader *reader);

// The settings, once trace_next has been called.
const struct trace_settings *trace_reader_settings(const struct trace_reader *reader);

// Instruction addresses by site and what the writer counted; empty before TRACE_END.
const uint64_t *trace_reader_ips(const struct trace_reader *reader, uint32_t *sites);
struct trace_counts trace_reader_counts(const struct trace_reader *reader);

#ifdef __cplusplus
}
#endif

#endif
