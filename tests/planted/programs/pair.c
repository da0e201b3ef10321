/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pair.h"

#include "team.h"

#define OPERATIONS 8192

static struct pair pair;

__attribute__((noinline)) static uint64_t count(_Atomic uint64_t *counter) {
  uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);

  atomic_store_explicit(counter, before + 1, memory_order_relaxed);
  return before;
}

static uint64_t work(int self, int workers) {
  uint64_t sum = 0;

  (void)workers;
  for (uint64_t i = 0; i < OPERATIONS; i++) sum += count(self % 2 ? &pair.second : &pair.first);
  return sum;
}

int main(int argc, char **argv) { return team_main(argc, argv, work, OPERATIONS); }
