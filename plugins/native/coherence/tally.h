// SPDX-License-Identifier: GPL-2.0-or-later
// Counters by key: a hash table that grows up to a bound. It belongs to one thread.
#ifndef LINESMITH_TALLY_H
#define LINESMITH_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TALLY_KEY_WORDS = 3 };

struct tally_key {
  uint64_t words[TALLY_KEY_WORDS];
};

// Rows lie in the order in which they were made, so those of one line lie together; the places that find them
// are small.
struct tally {
  uint64_t *rows;    // a key, then the counters
  uint64_t used;     // rows
  uint64_t room;     // likewise
  uint64_t limit;    // most rows
  uint64_t *places;  // by hash: the hash's upper 32 bits, then 1 + number of the row; 0: free
  uint64_t mask;     // places - 1
  size_t counters;
};

bool tally_init(struct tally *tally, size_t counters, uint64_t limit);
void tally_free(struct tally *tally);

// The counters of `key`, zeros at first; valid until the next call. NULL when the bound is reached.
uint64_t *tally_counters(struct tally *tally, const struct tally_key *key);

// The key of row `number`, which is below `used`, and its counters in *counters.
const struct tally_key *tally_row(const struct tally *tally, uint64_t number, const uint64_t **counters);

#endif
