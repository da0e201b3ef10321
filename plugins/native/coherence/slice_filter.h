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

enum { FILTERED_BITS = 16, FILTERED_WORDS = 1 << FILTERED_BITS, FILTERED_WORD_BYTES = 8 };

// Words with the same place displace each other: a repeat may pass, nothing else is ever left out.
struct slice_filter {
  struct filtered_word *words;
  uint32_t slice;
};

bool slice_filter_init(struct slice_filter *filter);
void slice_filter_free(struct slice_filter *filter);

// Forgets everything: another CPU runs.
void slice_filter_restart(struct slice_filter *filter);

// The entry of a word, by the upper bits of its hash.
static inline struct filtered_word *slice_filter_entry(const struct slice_filter *filter, uint64_t word) {
  return &filter->words[word * UINT64_C(0x9e3779b97f4a7c15) >> (64 - FILTERED_BITS)];
}

// Brings what is known of an address into the caches of the host.
static inline void slice_filter_expect(const struct slice_filter *filter, uint64_t address) {
  __builtin_prefetch(slice_filter_entry(filter, address / FILTERED_WORD_BYTES), 1);
}

// Whether the slice has done this to the bytes of one word before; it has from now on. A load needs a copy,
// which a store has brought as well; a store needs ownership, which a load has not.
static inline bool slice_filter_repeats_word(struct slice_filter *filter, uint64_t word, uint8_t bytes,
                                             enum coherence_kind kind) {
  struct filtered_word *entry = slice_filter_entry(filter, word);
  if (entry->word != word || entry->slice != filter->slice)
    *entry = (struct filtered_word){.word = word, .slice = filter->slice};
  const bool load = kind == COHERENCE_LOAD;
  const uint8_t done = load ? entry->loaded | entry->stored : entry->stored;
  *(load ? &entry->loaded : &entry->stored) |= bytes;
  return (bytes & ~done) == 0;
}

// The same of any number of words.
bool slice_filter_repeats_words(struct slice_filter *filter, uint64_t address, uint32_t width,
                                enum coherence_kind kind);

// Whether the slice has done this before, byte for byte; it has from now on.
static inline bool slice_filter_repeats(struct slice_filter *filter, uint64_t address, uint32_t width,
                                        enum coherence_kind kind) {
  const uint32_t offset = address % FILTERED_WORD_BYTES;
  if (offset + width > FILTERED_WORD_BYTES) return slice_filter_repeats_words(filter, address, width, kind);
  const uint8_t bytes = (uint8_t)(((1u << width) - 1) << offset);
  return slice_filter_repeats_word(filter, address / FILTERED_WORD_BYTES, bytes, kind);
}

#endif
