/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tallies.h"

#include <stdalign.h>

#include "team.h"

#define MOST_WORKERS 64
#define OPERATIONS 8192

static alignas(64) struct tally tallies[MOST_WORKERS];

static void add(_Atomic uint64_t *counter, uint64_t amount) {
  uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);

  atomic_store_explicit(counter, before + amount, memory_order_relaxed);
}

__attribute__((noinline)) static void count(struct tally *tally, uint64_t bytes) {
  add(&tally->done, 1);
  add(&tally->bytes, bytes);
}

static uint64_t work(int self, int workers) {
  (void)workers;
  for (uint64_t i = 0; i < OPERATIONS; i++) count(&tallies[self], i % 64);
  return atomic_load(&tallies[self].done);
}

int main(int argc, char **argv) { return team_main(argc, argv, work, OPERATIONS); }
