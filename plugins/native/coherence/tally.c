// SPDX-License-Identifier: GPL-2.0-or-later
#include "tally.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 256 };

static size_t row_words(const struct tally *tally) { return TALLY_KEY_WORDS + tally->counters; }

static uint64_t *row_at(const struct tally *tally, uint64_t index) {
  return tally->rows + (index & (tally->capacity - 1)) * row_words(tally);
}

bool tally_init(struct tally *tally, size_t counters, uint64_t limit) {
  *tally = (struct tally){.capacity = FIRST_CAPACITY, .limit = limit, .counters = counters};
  tally->rows = calloc(tally->capacity, row_words(tally) * sizeof(uint64_t));
  return tally->rows != NULL;
}

void tally_clear(struct tally *tally) {
  memset(tally->rows, 0, tally->capacity * row_words(tally) * sizeof(uint64_t));
  tally->used = 0;
}

void tally_free(struct tally *tally) { free(tally->rows); }

// Odd constants of the splitmix64 generator (Steele, Lea, Flood: Fast splittable pseudorandom number
// generators, 2014).
static uint64_t hash_of(const struct tally_key *key) {
  uint64_t hash = key->words[0] * UINT64_C(0x9e3779b97f4a7c15);
  hash = (hash ^ hash >> 29 ^ key->words[1]) * UINT64_C(0xbf58476d1ce4e5b9);
  hash = (hash ^ hash >> 32 ^ key->words[2]) * UINT64_C(0x94d049bb133111eb);
  return hash ^ hash >> 31;
}

static bool same_key(const uint64_t *row, const struct tally_key *key) {
  return row[0] == key->words[0] && row[1] == key->words[1] && row[2] == key->words[2];
}

// The row of `key`, or the free one where it belongs; one in four rows at least is free.
static uint64_t *find(const struct tally *tally, const struct tally_key *key) {
  for (uint64_t index = hash_of(key);; ++index) {
    uint64_t *row = row_at(tally, index);
    if (row[0] == 0 || same_key(row, key)) return row;
  }
}

static bool grow(struct tally *tally) {
  struct tally bigger = *tally;
  bigger.capacity *= 2;
  bigger.rows = calloc(bigger.capacity, row_words(tally) * sizeof(uint64_t));
  if (bigger.rows == NULL) return false;
  for (uint64_t index = 0; index < tally->capacity; ++index) {
    const uint64_t *row = row_at(tally, index);
    if (row[0] == 0) continue;
    memcpy(find(&bigger, (const struct tally_key *)row), row, row_words(tally) * sizeof(uint64_t));
  }
  free(tally->rows);
  *tally = bigger;
  return true;
}

uint64_t *tally_counters(struct tally *tally, const struct tally_key *key) {
  uint64_t *row = find(tally, key);
  if (row[0] != 0) return row + TALLY_KEY_WORDS;
  if (tally->used >= tally->limit) return NULL;
  if (tally->used >= tally->capacity / 4 * 3) {
    if (!grow(tally)) return NULL;
    row = find(tally, key);
  }
  memcpy(row, key->words, sizeof key->words);
  ++tally->used;
  return row + TALLY_KEY_WORDS;
}

const struct tally_key *tally_row(const struct tally *tally, uint64_t index, const uint64_t **counters) {
  const uint64_t *row = row_at(tally, index);
  *counters = row + TALLY_KEY_WORDS;
  return row[0] == 0 ? NULL : (const struct tally_key *)row;
}
