// SPDX-License-Identifier: GPL-2.0-or-later
// Counters by key: a hash table that grows up to a bound. It belongs to one thread.
//
// Rows lie all over the memory of the host, and several are fetched in little more time than one: what is
// counted waits until there are some.
#ifndef LINESMITH_TALLY_H
#define LINESMITH_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TALLY_KEY_WORDS = 3 };

struct tally_key {
  uint64_t words[TALLY_KEY_WORDS];
};

// What waits to be counted.
struct tally_event {
  struct tally_key key;
  uint64_t hash;
  uint32_t counter;
};

enum { TALLY_WAITING = 32 };

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
  uint64_t dropped;  // events that found the bound reached
  uint32_t waiting;
  struct tally_event events[TALLY_WAITING];
};

bool tally_init(struct tally *tally, size_t counters, uint64_t limit);
void tally_free(struct tally *tally);

// Adds one to a counter of `key`, sooner or later.
void tally_count(struct tally *tally, const struct tally_key *key, uint32_t counter);

// Counts what waits: before anything below, and before `dropped` is read.
void tally_settle(struct tally *tally);

// The key of row `number`, which is below `used`, and its counters in *counters.
const struct tally_key *tally_row(const struct tally *tally, uint64_t number, const uint64_t **counters);

#endif
