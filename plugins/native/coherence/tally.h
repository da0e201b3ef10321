// SPDX-License-Identifier: GPL-2.0-or-later
// Counters by key: a hash table that grows up to a bound. It belongs to one thread.
#ifndef LINESMITH_TALLY_H
#define LINESMITH_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TALLY_KEY_WORDS = 3 };

// Word 0 is never 0.
struct tally_key {
  uint64_t words[TALLY_KEY_WORDS];
};

struct tally {
  uint64_t *rows;     // a key, then the counters; word 0 of a free row is 0
  uint64_t capacity;  // rows, a power of two
  uint64_t used;
  uint64_t limit;  // most rows in use
  size_t counters;
};

bool tally_init(struct tally *tally, size_t counters, uint64_t limit);
void tally_clear(struct tally *tally);
void tally_free(struct tally *tally);

// The counters of `key`, zeros at first; valid until the next call. NULL when the bound is reached.
uint64_t *tally_counters(struct tally *tally, const struct tally_key *key);

// The key of row `index`, its counters in *counters; NULL when the row is free.
const struct tally_key *tally_row(const struct tally *tally, uint64_t index, const uint64_t **counters);

#endif
