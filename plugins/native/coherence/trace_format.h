// SPDX-License-Identifier: GPL-2.0-or-later
// The bytes of a trace, for its writer and its reader.
//
// Magic, then blocks: a head of five little-endian 32-bit words (type, bytes unpacked, bytes packed, crc32 of
// the packed bytes, entries) and a zlib stream. In order: one block of settings, events, sites, one end.
//
//   settings  version (2), CPUs, the node of each CPU: one byte each
//   events    three streams, which zlib packs better than one: the bytes of the first two as varints, then
//             all heads, all sites, all addresses.
//             heads      slice and CPU at the start: varints. Then one head byte each: bits 0-1 are the kind,
//                        3 for "the next slice begins, CPU in bits 2-7". Bits 2-4 of an access are log2 of
//                        its width, 7: a byte with the width follows; bits 5-7 how far its site lies beyond
//                        the last one's, 0: a zigzag varint among the sites says so. The last site is 0 at
//                        the start.
//             addresses  the distance from the last address in the slot of site and CPU: a zigzag varint.
//                        Slots are 0 at the start of the trace.
//   sites     distances of instruction addresses: zigzag varints
//   end       accesses seen, events, slices, events dropped: varints
//
// Version 1 has one stream, in which the parts of an event follow each other, and distances from the last
// event's address, 0 at the start of the block. It is read as well.
#ifndef LINESMITH_TRACE_FORMAT_H
#define LINESMITH_TRACE_FORMAT_H

#include <stdint.h>

#include "coherence.h"

#define TRACE_MAGIC "LSMTRACE"

enum {
  TRACE_MAGIC_BYTES = 8,
  TRACE_VERSION = 2,
  TRACE_ONE_STREAM = 1,  // the version before
  TRACE_HEAD_BYTES = 20,
  TRACE_BLOCK_BYTES = 1 << 18,  // most bytes of a block, unpacked
  TRACE_LENGTHS = 10,           // most bytes of the lengths in front of the streams
  TRACE_EVENT_BYTES = 20,  // most bytes of one event: a slice, a head, a width, and varints of 5 and 10 bytes
  TRACE_SLOT_BITS = 18,
  TRACE_SLOTS = 1 << TRACE_SLOT_BITS,
  TRACE_MAX_SITES = 1 << 24
};
_Static_assert(TRACE_EVENT_BYTES >= 1 + 1 + 1 + 5 + 10, "an event always fits");

enum trace_block { TRACE_SETTINGS = 1, TRACE_EVENTS = 2, TRACE_SITES = 3, TRACE_LAST = 4 };

enum trace_stream { STREAM_HEADS, STREAM_SITES, STREAM_ADDRESSES, TRACE_STREAMS };

enum {
  EVENT_KIND_MASK = 3,
  EVENT_NEXT_SLICE = 3,  // in place of a kind
  EVENT_CPU_SHIFT = 2,
  EVENT_WIDTH_SHIFT = 2,
  EVENT_WIDTH_MASK = 7,
  EVENT_WIDTH_FOLLOWS = 7,
  EVENT_SITE_SHIFT = 5,
  EVENT_SITE_MAX = 7
};

// Where the last address of a site on a CPU is remembered; some share a slot.
static inline uint32_t trace_slot(uint32_t site, uint32_t cpu) {
  return (site * COHERENCE_MAX_CPUS + cpu) * 0x9e3779b1u >> (32 - TRACE_SLOT_BITS);
}

// Small differences of either sign as small numbers.
static inline uint64_t zigzag(uint64_t difference) { return difference << 1 ^ (0 - (difference >> 63)); }
static inline uint64_t unzigzag(uint64_t value) { return value >> 1 ^ (0 - (value & 1)); }

#endif
