// SPDX-License-Identifier: GPL-2.0-or-later
// Which bytes the running slice has loaded and stored, to leave out what it repeats.
#ifndef LINESMITH_SLICE_FILTER_H
#define LINESMITH_SLICE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "coherence.h"

// Of one 8-byte word, a bit for each byte.
struct filtered_word {
  uint64_t word;   // address / 8
  uint32_t slice;  // the entry is of an earlier one unless this is the filter's
  uint8_t loaded;
  uint8_t stored;
};

enum { FILTERED_WORDS = 1 << 16 };

// Words with the same place displace each other: a repeat may pass, nothing else is ever left out.
struct slice_filter {
  struct filtered_word *words;
  uint32_t slice;
};

bool slice_filter_init(struct slice_filter *filter);
void slice_filter_free(struct slice_filter *filter);

// Forgets everything: another CPU runs.
void slice_filter_restart(struct slice_filter *filter);

// Whether the slice has done this before, byte for byte; it has from now on.
bool slice_filter_repeats(struct slice_filter *filter, uint64_t address, uint32_t width,
                          enum coherence_kind kind);

#endif
