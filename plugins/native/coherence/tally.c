// SPDX-License-Identifier: GPL-2.0-or-later
#include "tally.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 256 };  // rows; always half as many as places

static size_t row_words(const struct tally *tally) { return TALLY_KEY_WORDS + tally->counters; }

static uint64_t *row_at(const struct tally *tally, uint64_t number) {
  return tally->rows + number * row_words(tally);
}

bool tally_init(struct tally *tally, size_t counters, uint64_t limit) {
  *tally =
      (struct tally){.room = FIRST_ROOM, .limit = limit, .mask = 2 * FIRST_ROOM - 1, .counters = counters};
  tally->rows = malloc(tally->room * row_words(tally) * sizeof *tally->rows);
  tally->places = calloc(tally->mask + 1, sizeof *tally->places);
  return tally->rows != NULL && tally->places != NULL;
}

void tally_free(struct tally *tally) {
  free(tally->rows);
  free(tally->places);
}

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

// The place of `key`, or the free one where it belongs; every other place at least is free.
static uint64_t *find_place(const struct tally *tally, const struct tally_key *key, uint64_t hash) {
  for (uint64_t index = hash;; ++index) {
    uint64_t *place = &tally->places[index & tally->mask];
    if (*place == 0) return place;
    if (*place >> 32 == hash >> 32 && same_key(row_at(tally, (*place & UINT32_MAX) - 1), key)) return place;
  }
}

static bool grow(struct tally *tally) {
  const uint64_t room = 2 * tally->room;
  uint64_t *rows = realloc(tally->rows, room * row_words(tally) * sizeof *rows);
  if (rows == NULL) return false;
  tally->rows = rows;
  uint64_t *places = calloc(2 * room, sizeof *places);
  if (places == NULL) return false;
  free(tally->places);
  tally->places = places;
  tally->mask = 2 * room - 1;
  tally->room = room;
  for (uint64_t number = 0; number < tally->used; ++number) {
    const struct tally_key *key = (const struct tally_key *)row_at(tally, number);
    const uint64_t hash = hash_of(key);
    *find_place(tally, key, hash) = hash >> 32 << 32 | (number + 1);
  }
  return true;
}

static uint64_t *add_row(struct tally *tally, const struct tally_key *key) {
  uint64_t *row = row_at(tally, tally->used++);
  memcpy(row, key->words, sizeof key->words);
  return memset(row + TALLY_KEY_WORDS, 0, tally->counters * sizeof *row);
}

// The counters of `key`, zeros at first; NULL when the bound is reached.
static uint64_t *counters_of(struct tally *tally, const struct tally_key *key, uint64_t hash) {
  uint64_t *place = find_place(tally, key, hash);
  if (*place != 0) return row_at(tally, (*place & UINT32_MAX) - 1) + TALLY_KEY_WORDS;
  if (tally->used >= tally->limit) return NULL;
  if (tally->used == tally->room) {
    if (!grow(tally)) return NULL;
    place = find_place(tally, key, hash);
  }
  *place = hash >> 32 << 32 | (tally->used + 1);
  return add_row(tally, key);
}

// Brings the row that the first place of `hash` leads to into the caches of the host.
static void fetch_row(const struct tally *tally, uint64_t hash) {
  const uint64_t place = tally->places[hash & tally->mask];
  if (place != 0) __builtin_prefetch(row_at(tally, (place & UINT32_MAX) - 1), 1);
}

void tally_settle(struct tally *tally) {
  for (uint32_t index = 0; index < tally->waiting; ++index) fetch_row(tally, tally->events[index].hash);
  for (uint32_t index = 0; index < tally->waiting; ++index) {
    const struct tally_event *event = &tally->events[index];
    uint64_t *counters = counters_of(tally, &event->key, event->hash);
    if (counters == NULL) {
      ++tally->dropped;
    } else {
      ++counters[event->counter];
    }
  }
  tally->waiting = 0;
}

void tally_count(struct tally *tally, const struct tally_key *key, uint32_t counter) {
  const uint64_t hash = hash_of(key);
  __builtin_prefetch(&tally->places[hash & tally->mask]);
  tally->events[tally->waiting++] = (struct tally_event){.key = *key, .hash = hash, .counter = counter};
  if (tally->waiting == TALLY_WAITING) tally_settle(tally);
}

const struct tally_key *tally_row(const struct tally *tally, uint64_t number, const uint64_t **counters) {
  const uint64_t *row = row_at(tally, number);
  *counters = row + TALLY_KEY_WORDS;
  return (const struct tally_key *)row;
}
