/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "team.h"

#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MOST_WORKERS 64
#define MOST_ROUNDS 1000000
#define DEFAULT_ROUNDS 3000
#define PATIENCE 20000

struct worker {
  alignas(256) pthread_t thread;
  int self;
  uint64_t found;
};

static struct {
  alignas(256) round_function work;
  uint64_t *nanoseconds; /* of each round */
  uint64_t rounds;
  int workers;
  alignas(256) _Atomic uint64_t arrivals;
} team;

static void fail(const char *what) {
  perror(what);
  exit(EXIT_FAILURE);
}

static uint64_t now(void) {
  struct timespec time;

  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The worker's CPU is the one with its number among those that the process may run on, round and round. */
static void pin(int self) {
  cpu_set_t allowed, one;
  int skip, cpu = 0;

  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) fail("sched_getaffinity");
  for (skip = self % CPU_COUNT(&allowed); skip >= 0; cpu++) skip -= CPU_ISSET(cpu, &allowed) != 0;
  CPU_ZERO(&one);
  CPU_SET(cpu - 1, &one);
  if (sched_setaffinity(0, sizeof(one), &one) != 0) fail("sched_setaffinity");
}

void look_again(int looks) {
  if (looks > PATIENCE) sched_yield();
}

/* Wait until all workers are here for the meeting of that number, counted from 1. */
static void meet(uint64_t meeting) {
  uint64_t everyone = meeting * (uint64_t)team.workers;

  atomic_fetch_add(&team.arrivals, 1);
  for (int looks = 0; atomic_load_explicit(&team.arrivals, memory_order_acquire) < everyone; looks++)
    look_again(looks);
}

static void *work(void *argument) {
  struct worker *worker = argument;
  uint64_t begin, end;

  pin(worker->self);
  meet(1);
  begin = now();
  for (uint64_t round = 0; round < team.rounds; round++, begin = end) {
    worker->found += team.work(worker->self, team.workers);
    meet(round + 2);
    end = now();
    if (worker->self == 0) team.nanoseconds[round] = end - begin;
  }
  return NULL;
}

static int by_size(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

  return (a > b) - (a < b);
}

static double median_seconds(void) {
  qsort(team.nanoseconds, team.rounds, sizeof(*team.nanoseconds), by_size);
  return (double)team.nanoseconds[team.rounds / 2] * 1e-9;
}

static void run(void) {
  static struct worker workers[MOST_WORKERS];

  for (int self = 0; self < team.workers; self++) {
    workers[self].self = self;
    if (pthread_create(&workers[self].thread, NULL, work, &workers[self]) != 0) fail("pthread_create");
  }
  for (int self = 0; self < team.workers; self++) pthread_join(workers[self].thread, NULL);
}

/* A number from 1 up to `most`, or 0 if the word is none. */
static uint64_t number(const char *word, uint64_t most) {
  uint64_t value = strtoull(word, NULL, 10);

  return value <= most ? value : 0;
}

int team_main(int argc, char **argv, round_function work_of_a_round, uint64_t operations) {
  team.work = work_of_a_round;
  team.workers = argc > 1 ? (int)number(argv[1], MOST_WORKERS) : 0;
  team.rounds = argc > 2 ? number(argv[2], MOST_ROUNDS) : DEFAULT_ROUNDS;
  if (argc > 3 || team.workers == 0 || team.rounds == 0) {
    fprintf(stderr, "usage: %s WORKERS [ROUNDS], at most %d and %d\n", argv[0], MOST_WORKERS, MOST_ROUNDS);
    return EXIT_FAILURE;
  }
  team.nanoseconds = calloc(team.rounds, sizeof(*team.nanoseconds));
  if (!team.nanoseconds) fail("calloc");
  run();
  printf("operations_per_second %.0f\n", (double)operations / median_seconds());
  free(team.nanoseconds);
  return EXIT_SUCCESS;
}
