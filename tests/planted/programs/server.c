/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server.h"

#include "team.h"

/* Of one round; they take about as long. */
#define REQUESTS 16384
#define CONNECTIONS 2048

static struct settings settings = {.longest = 1000, .priority = 3};
static struct server server = {.name = "example", .settings = &settings};

__attribute__((noinline)) static uint64_t admit(const struct server *shared, uint64_t length) {
  const struct settings *current = shared->settings;

  return length < current->longest ? current->priority : 0;
}

__attribute__((noinline)) static void accept_connection(struct server *shared) {
  atomic_fetch_add_explicit(&shared->accepted, 1, memory_order_relaxed);
}

/* The second worker accepts connections, the others admit requests. */
static uint64_t work(int self, int workers) {
  uint64_t admitted = 0;

  (void)workers;
  if (self == 1)
    for (int i = 0; i < CONNECTIONS; i++) accept_connection(&server);
  else
    for (uint64_t i = 0; i < REQUESTS; i++) admitted += admit(&server, i);
  return admitted;
}

int main(int argc, char **argv) { return team_main(argc, argv, work, REQUESTS); }
