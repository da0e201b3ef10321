// SPDX-License-Identifier: GPL-2.0-or-later
// Joins the accesses of a repeated string instruction: emulation clears a page byte by byte, processors do
// not.
#ifndef LINESMITH_REPEATS_H
#define LINESMITH_REPEATS_H

#include <stdbool.h>
#include <stdint.h>

#include "coherence.h"

// Accesses are joined that begin in the same aligned piece of this size, which is that of the smallest line.
enum { REPEAT_PIECE_BYTES = 64 };

/** Adjoining accesses of one instruction, not counted yet. */
struct repeat {
  uint64_t address;
  uint32_t width;  // bytes; 0: nothing
  uint32_t site;
  enum coherence_kind kind;
};

/** Of one virtual CPU: what its string instruction loads, and what it stores. */
struct repeats {
  _Alignas(64) struct repeat loads;
  struct repeat stores;
  bool pending;
};

/** Adds an access to those before it; false where it does not adjoin them and they are to be counted first.
 */
static inline bool repeat_join(struct repeat *repeat, uint64_t address, uint32_t width, uint32_t site) {
  bool adjoins = address == repeat->address + repeat->width &&
                 address / REPEAT_PIECE_BYTES == repeat->address / REPEAT_PIECE_BYTES;
  if (!repeat->width || !adjoins || repeat->site != site) return false;
  repeat->width += width;
  return true;
}

#endif
