// SPDX-License-Identifier: GPL-2.0-or-later
// The bytes of a trace, for its writer and its reader.
//
// Magic, then blocks: a head of five little-endian 32-bit words (type, bytes unpacked, bytes packed, crc32 of
// the packed bytes, entries) and a zlib stream. In order: one block of settings, events, sites, one end.
//
//   settings  version (1), CPUs, the node of each CPU: one byte each
//   events    slice and CPU at the start: varints. Then one head byte each: bits 0-1 are the kind, 3 for "the
//   next
//             slice begins, CPU in bits 2-7". Bits 2-4 of an access are log2 of its width, 7: a byte with the
//             width follows; bits 5-7 how far its site lies beyond the last one's, 0: a zigzag varint says
//             so. The distance of the address from the last one's is a zigzag varint. Last address and last
//             site are 0 at the start.
//   sites     distances of instruction addresses: zigzag varints
//   end       accesses seen, events, slices, events dropped: varints
#ifndef LINESMITH_TRACE_FORMAT_H
#define LINESMITH_TRACE_FORMAT_H

#include <stdint.h>

#define TRACE_MAGIC "LSMTRACE"

enum {
  TRACE_MAGIC_BYTES = 8,
  TRACE_VERSION = 1,
  TRACE_HEAD_BYTES = 20,
  TRACE_BLOCK_BYTES = 1 << 18,  // most bytes of a block, unpacked
  TRACE_EVENT_BYTES = 20,  // most bytes of one event: a slice, a head, a width, and varints of 5 and 10 bytes
  TRACE_MAX_SITES = 1 << 24
};
_Static_assert(TRACE_EVENT_BYTES >= 1 + 1 + 1 + 5 + 10, "an event always fits");

enum trace_block { TRACE_SETTINGS = 1, TRACE_EVENTS = 2, TRACE_SITES = 3, TRACE_LAST = 4 };

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

// Small differences of either sign as small numbers.
static inline uint64_t zigzag(uint64_t difference) { return difference << 1 ^ (0 - (difference >> 63)); }
static inline uint64_t unzigzag(uint64_t value) { return value >> 1 ^ (0 - (value & 1)); }

#endif
