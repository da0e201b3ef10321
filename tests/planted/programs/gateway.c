/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gateway.h"

#include "team.h"

#define WEIGHTS 16
/* Of one round; they take about as long. */
#define REQUESTS 16384
#define CONNECTIONS 2048

static const uint64_t weights[WEIGHTS] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
static struct gateway gateway = {.weights = weights, .longest = 1000, .mask = WEIGHTS - 1, .name = "example"};

__attribute__((noinline)) static uint64_t admit(const struct gateway *shared, uint64_t length) {
  return length < shared->longest ? shared->weights[length & shared->mask] : 0;
}

__attribute__((noinline)) static void accept_connection(struct gateway *shared, uint64_t connection) {
  atomic_fetch_add_explicit(&shared->accepted, 1, memory_order_relaxed);
  shared->newest = connection;
  shared->busiest = connection > shared->busiest ? connection : shared->busiest;
}

/* The second worker accepts connections, the others admit requests. */
static uint64_t work(int self, int workers) {
  uint64_t admitted = 0;

  (void)workers;
  if (self == 1)
    for (uint64_t i = 0; i < CONNECTIONS; i++) accept_connection(&gateway, i);
  else
    for (uint64_t i = 0; i < REQUESTS; i++) admitted += admit(&gateway, i % 2048);
  return admitted;
}

int main(int argc, char **argv) { return team_main(argc, argv, work, REQUESTS); }
