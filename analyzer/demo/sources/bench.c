/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures lookups and renewals a second: `bench MILLISECONDS CPU...`, the writer on the first CPU. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "session_index.h"

#define SESSIONS 63
#define BATCH 256
#define MAX_THREADS 64

static struct session_index index_under_test;
static alignas(64) struct session sessions[SESSIONS];
static alignas(64) uint64_t renewed[SESSIONS];
static alignas(64) atomic_bool stopped;

struct worker {
  alignas(128) pthread_t thread;
  int cpu;
  uint64_t done;
  uint64_t found;
};

static void pin(int cpu) {
  cpu_set_t set;

  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    perror("bench: sched_setaffinity");
    exit(EXIT_FAILURE);
  }
}

static void *look_up(void *argument) {
  struct worker *worker = argument;
  uint64_t done = 0, found = 0, key = 0;

  pin(worker->cpu);
  while (!atomic_load_explicit(&stopped, memory_order_relaxed)) {
    for (int i = 0; i < BATCH; i++, done++) {
      key = (key + 37) % (2 * SESSIONS);
      found += session_index_find(&index_under_test, key) != NULL;
    }
  }
  worker->done = done;
  worker->found = found;
  return NULL;
}

static void *renew(void *argument) {
  struct worker *worker = argument;
  uint64_t done = 0;

  pin(worker->cpu);
  while (!atomic_load_explicit(&stopped, memory_order_relaxed))
    for (int i = 0; i < BATCH; i++, done++) session_index_renew(&index_under_test, done % SESSIONS, done, 1);
  worker->done = done;
  return NULL;
}

static double seconds_now(void) {
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void run(struct worker *workers, int count, long milliseconds) {
  struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  double begin = seconds_now(), elapsed;
  uint64_t lookups = 0;

  for (int i = 0; i < count; i++)
    if (pthread_create(&workers[i].thread, NULL, i ? look_up : renew, &workers[i]) != 0) exit(EXIT_FAILURE);
  nanosleep(&pause, NULL);
  atomic_store(&stopped, true);
  for (int i = 0; i < count; i++) pthread_join(workers[i].thread, NULL);
  elapsed = seconds_now() - begin;
  for (int i = 1; i < count; i++) lookups += workers[i].done;
  printf("lookups_per_second %.0f\nrenewals_per_second %.0f\n", (double)lookups / elapsed,
         (double)workers[0].done / elapsed);
}

int main(int argc, char **argv) {
  static struct worker workers[MAX_THREADS];
  int count = argc - 2;

  if (count < 2 || count > MAX_THREADS) {
    fprintf(stderr, "usage: bench MILLISECONDS CPU CPU...\n");
    return EXIT_FAILURE;
  }
  for (int i = 0; i < SESSIONS; i++) sessions[i].key = 2 * (uint64_t)i + 1;
  session_index_build(&index_under_test, sessions, renewed, SESSIONS);
  for (int i = 0; i < count; i++) workers[i].cpu = atoi(argv[i + 2]);
  run(workers, count, atol(argv[1]));
  return EXIT_SUCCESS;
}
