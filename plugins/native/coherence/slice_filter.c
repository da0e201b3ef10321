// SPDX-License-Identifier: GPL-2.0-or-later
#include "slice_filter.h"

#include <stdlib.h>
#include <string.h>

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

bool slice_filter_repeats_words(struct slice_filter *filter, uint64_t address, uint32_t width,
                                enum coherence_kind kind) {
  bool repeats = true;
  while (width > 0) {
    const uint32_t offset = address % FILTERED_WORD_BYTES;
    const uint32_t part = width < FILTERED_WORD_BYTES - offset ? width : FILTERED_WORD_BYTES - offset;
    const uint8_t bytes = (uint8_t)(((1u << part) - 1) << offset);
    if (!slice_filter_repeats_word(filter, address / FILTERED_WORD_BYTES, bytes, kind)) repeats = false;
    address += part;
    width -= part;
  }
  return repeats;
}
