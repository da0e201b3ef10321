/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "routes.h"

#include "team.h"

#define ROUTES 64
/* Of one round; they take about as long. */
#define LOOKUPS 16384
#define REFRESHES 4096

static struct route_table table;
static alignas(256) struct route routes[ROUTES];
static alignas(256) uint64_t refreshed[ROUTES];

static void take(struct route_table *shared, uint32_t holder) {
  while (atomic_exchange_explicit(&shared->lock, 1, memory_order_acquire))
    while (atomic_load_explicit(&shared->lock, memory_order_relaxed));
  shared->holder = holder;
}

static void release(struct route_table *shared) {
  shared->holder = 0;
  atomic_store_explicit(&shared->lock, 0, memory_order_release);
}

__attribute__((noinline)) static uint64_t look_up(const struct route_table *shared, uint64_t address) {
  const struct route *route = &shared->routes[address & shared->mask];

  return route->prefix == address ? route->gateway : 0;
}

__attribute__((noinline)) static void refresh(struct route_table *shared, uint64_t address, uint32_t holder) {
  take(shared, holder);
  shared->refreshed[address % ROUTES]++;
  release(shared);
}

/* The second worker refreshes, the others look up. */
static uint64_t work(int self, int workers) {
  uint64_t found = 0;

  (void)workers;
  if (self == 1)
    for (uint64_t i = 0; i < REFRESHES; i++) refresh(&table, i * 7, (uint32_t)self);
  else
    for (uint64_t i = 0; i < LOOKUPS; i++) found += look_up(&table, i * 7 % ROUTES);
  return found;
}

int main(int argc, char **argv) {
  for (uint64_t i = 0; i < ROUTES; i++) routes[i].prefix = i;
  table.routes = routes;
  table.mask = ROUTES - 1;
  table.refreshed = refreshed;
  return team_main(argc, argv, work, LOOKUPS);
}
