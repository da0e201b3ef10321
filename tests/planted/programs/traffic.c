/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "traffic.h"

#include "team.h"

#define PACKETS 8192

static struct traffic traffic = {.shortest = 64, .overhead = 18, .name = "example"};

/* Each counter has one writer. */
static void add(_Atomic uint64_t *counter, uint64_t amount) {
  uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);

  atomic_store_explicit(counter, before + amount, memory_order_relaxed);
}

__attribute__((noinline)) static void count_in(struct traffic *shared, uint64_t bytes) {
  add(&shared->packets_in, 1);
  add(&shared->bytes_in, bytes + shared->overhead);
  add(&shared->short_in, bytes < shared->shortest);
}

__attribute__((noinline)) static void count_out(struct traffic *shared, uint64_t bytes) {
  add(&shared->packets_out, 1);
  add(&shared->bytes_out, bytes + shared->overhead);
  add(&shared->short_out, bytes < shared->shortest);
}

/* The first worker receives and the second sends; one alone only receives. */
static uint64_t work(int self, int workers) {
  (void)workers;
  for (uint64_t i = 0; i < PACKETS && self == 0; i++) count_in(&traffic, i % 1500);
  for (uint64_t i = 0; i < PACKETS && self == 1; i++) count_out(&traffic, i % 1500);
  return atomic_load(&traffic.packets_in);
}

int main(int argc, char **argv) { return team_main(argc, argv, work, PACKETS); }
