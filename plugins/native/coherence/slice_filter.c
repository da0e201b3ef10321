// SPDX-License-Identifier: GPL-2.0-or-later
#include "slice_filter.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_BYTES = 8 };

bool slice_filter_init(struct slice_filter *filter) {
  filter->slice = 1;
  filter->words = calloc(FILTERED_WORDS, sizeof *filter->words);
  return filter->words != NULL;
}

void slice_filter_free(struct slice_filter *filter) { free(filter->words); }

void slice_filter_restart(struct slice_filter *filter) {
  if (++filter->slice != 0) return;
  memset(filter->words, 0, FILTERED_WORDS * sizeof *filter->words);
  filter->slice = 1;
}

static struct filtered_word *word_at(struct slice_filter *filter, uint64_t word) {
  const uint64_t hash = word * UINT64_C(0x9e3779b97f4a7c15);
  struct filtered_word *entry = &filter->words[hash >> 48];
  if (entry->word != word || entry->slice != filter->slice)
    *entry = (struct filtered_word){.word = word, .slice = filter->slice};
  return entry;
}
_Static_assert(FILTERED_WORDS == 1 << 16, "the upper 16 bits of the hash choose the entry");

// A load needs a copy, which a store has brought as well; a store needs ownership, which a load has not.
static bool repeats_in_word(struct filtered_word *entry, uint8_t bytes, enum coherence_kind kind) {
  const bool load = kind == COHERENCE_LOAD;
  const uint8_t done = load ? entry->loaded | entry->stored : entry->stored;
  *(load ? &entry->loaded : &entry->stored) |= bytes;
  return (bytes & ~done) == 0;
}

bool slice_filter_repeats(struct slice_filter *filter, uint64_t address, uint32_t width,
                          enum coherence_kind kind) {
  bool repeats = true;
  while (width > 0) {
    const uint32_t offset = address % WORD_BYTES;
    const uint32_t part = width < WORD_BYTES - offset ? width : WORD_BYTES - offset;
    const uint8_t bytes = (uint8_t)(((1u << part) - 1) << offset);
    if (!repeats_in_word(word_at(filter, address / WORD_BYTES), bytes, kind)) repeats = false;
    address += part;
    width -= part;
  }
  return repeats;
}
