// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "turns.h"

#include <errno.h>
#include <stdbool.h>
#include <time.h>

// A slice takes some 0.1 ms; a turn that lasts 5 ms is held by a thread that sleeps inside QEMU.
enum { STALL_NANOSECONDS = 5000000 };

void turns_open(struct turns *turns) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&turns->lock, NULL);
  for (int i = 0; i < COHERENCE_MAX_CPUS; i++) pthread_cond_init(&turns->wake[i], &monotonic);
  pthread_condattr_destroy(&monotonic);
  turns->waiting = turns->passed = turns->forced = 0;
  turns->holder = TURNS_NOBODY;
}

void turns_close(struct turns *turns) {
  for (int i = 0; i < COHERENCE_MAX_CPUS; i++) pthread_cond_destroy(&turns->wake[i]);
  pthread_mutex_destroy(&turns->lock);
}

/** The waiting CPU that follows `cpu`, round about; TURNS_NOBODY where none waits. */
static int next_waiting(const struct turns *turns, unsigned cpu) {
  if (!turns->waiting) return TURNS_NOBODY;
  uint64_t above = turns->waiting & ~((2ULL << cpu) - 1);
  return __builtin_ctzll(above ? above : turns->waiting);
}

static void give(struct turns *turns, int cpu) {
  turns->holder = cpu;
  turns->passed++;
  if (cpu == TURNS_NOBODY) return;
  turns->waiting &= ~(1ULL << cpu);
  pthread_cond_signal(&turns->wake[cpu]);
}

static struct timespec stall_limit(void) {
  struct timespec limit;
  clock_gettime(CLOCK_MONOTONIC, &limit);
  limit.tv_nsec += STALL_NANOSECONDS;
  if (limit.tv_nsec >= 1000000000) {
    limit.tv_nsec -= 1000000000;
    limit.tv_sec++;
  }
  return limit;
}

static void let_everyone_go(struct turns *turns) {
  for (uint64_t left = turns->waiting; left; left &= left - 1)
    pthread_cond_signal(&turns->wake[__builtin_ctzll(left)]);
  turns->waiting = 0;
  turns->holder = TURNS_NOBODY;
  turns->passed++;
  turns->forced++;
}

/** Sleeps until the bit of `cpu` is taken out of those that wait. */
static void wait_for_turn(struct turns *turns, unsigned cpu) {
  uint64_t bit = 1ULL << cpu;
  turns->waiting |= bit;
  while (turns->waiting & bit) {
    uint64_t passed = turns->passed;
    struct timespec limit = stall_limit();
    int error = pthread_cond_timedwait(&turns->wake[cpu], &turns->lock, &limit);
    if (error == ETIMEDOUT && passed == turns->passed && turns->waiting & bit) let_everyone_go(turns);
  }
}

void turns_pass(struct turns *turns, unsigned cpu) {
  pthread_mutex_lock(&turns->lock);
  if (turns->holder == TURNS_NOBODY) turns->holder = (int)cpu;
  if (turns->holder != (int)cpu) {
    wait_for_turn(turns, cpu);
  } else if (turns->waiting) {
    give(turns, next_waiting(turns, cpu));
    wait_for_turn(turns, cpu);
  }
  pthread_mutex_unlock(&turns->lock);
}

void turns_leave(struct turns *turns, unsigned cpu) {
  pthread_mutex_lock(&turns->lock);
  if (turns->holder == (int)cpu) give(turns, next_waiting(turns, cpu));
  pthread_mutex_unlock(&turns->lock);
}
