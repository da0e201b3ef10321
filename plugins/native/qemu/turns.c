// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "turns.h"

#include <errno.h>
#include <time.h>

#include "host_thread.h"

// A slice takes some 0.1 ms. A turn that lasts 20 ms is held by a thread that sleeps inside QEMU, or that
// waits for a processor of a busy host: everyone waits for that one, but not for longer than a second.
// Whether another sleeps is looked at again after 0.2 ms.
enum { STALL_NANOSECONDS = 20000000, LOOK_NANOSECONDS = 200000, MOST_STALLS = 50 };

void turns_open(struct turns *turns) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&turns->lock, NULL);
  for (int i = 0; i < COHERENCE_MAX_CPUS; i++) pthread_cond_init(&turns->wake[i], &monotonic);
  pthread_condattr_destroy(&monotonic);
  turns->waiting = turns->passed = turns->forced = turns->leaving = 0;
  turns->expected = 0;
  turns->holder = TURNS_NOBODY;
  turns->lingering = false;
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

static struct timespec time_in(long nanoseconds) {
  struct timespec limit;
  clock_gettime(CLOCK_MONOTONIC, &limit);
  limit.tv_nsec += nanoseconds;
  if (limit.tv_nsec >= 1000000000) {
    limit.tv_nsec -= 1000000000;
    limit.tv_sec++;
  }
  return limit;
}

/** Whoever is let go and does not sleep comes again soon, though the host may run the others first. */
static void let_everyone_go(struct turns *turns) {
  turns->leaving |= turns->waiting;
  if (turns->holder != TURNS_NOBODY) turns->leaving |= 1ULL << turns->holder;
  for (uint64_t left = turns->waiting; left; left &= left - 1)
    pthread_cond_signal(&turns->wake[__builtin_ctzll(left)]);
  turns->waiting = 0;
  turns->holder = TURNS_NOBODY;
  turns->passed++;
  turns->forced++;
}

static bool holder_sleeps(const struct turns *turns) {
  return turns->holder == TURNS_NOBODY || host_thread_sleeps(turns->threads[turns->holder]);
}

/** Sleeps until the bit of `cpu` is taken out of those that wait. */
static void wait_for_turn(struct turns *turns, unsigned cpu) {
  uint64_t bit = 1ULL << cpu;
  turns->waiting |= bit;
  bool asleep = false;  // a look may find the holder waiting for the lock that whoever looks has
  for (int stalls = 0; turns->waiting & bit;) {
    uint64_t passed = turns->passed;
    struct timespec limit = time_in(asleep ? LOOK_NANOSECONDS : STALL_NANOSECONDS);
    int error = pthread_cond_timedwait(&turns->wake[cpu], &turns->lock, &limit);
    if (error != ETIMEDOUT || passed != turns->passed) {
      stalls = 0;
      asleep = false;
    } else if (turns->waiting & bit) {
      bool still = holder_sleeps(turns);
      if (++stalls == MOST_STALLS || (still && asleep)) let_everyone_go(turns);
      asleep = still;
    }
  }
}

/** Takes the turn where it is nobody's, and waits for it where it is another's. */
static void come(struct turns *turns, unsigned cpu) {
  if (turns->expected) turns->expected--;
  turns->leaving &= ~(1ULL << cpu);
  turns->threads[cpu] = host_thread_number();
  if (turns->holder == TURNS_NOBODY) {
    turns->holder = (int)cpu;
    return;
  }
  if (turns->lingering) pthread_cond_signal(&turns->wake[turns->holder]);
  wait_for_turn(turns, cpu);
}

/** True where somebody may come soon: was woken, or has left without having fallen asleep. */
static bool somebody_may_come(struct turns *turns) {
  for (uint64_t left = turns->leaving; left; left &= left - 1) {
    int cpu = __builtin_ctzll(left);
    if (host_thread_sleeps(turns->threads[cpu])) turns->leaving &= ~(1ULL << cpu);
  }
  return turns->expected || turns->leaving;
}

static void linger(struct turns *turns, unsigned cpu) {
  turns->lingering = true;
  for (int looks = STALL_NANOSECONDS / LOOK_NANOSECONDS;
       turns->holder == (int)cpu && !turns->waiting && somebody_may_come(turns); looks--) {
    struct timespec limit = time_in(LOOK_NANOSECONDS);
    if (looks > 0) {
      pthread_cond_timedwait(&turns->wake[cpu], &turns->lock, &limit);
    } else {
      turns->expected = 0;
      turns->leaving = 0;
    }
  }
  turns->lingering = false;
}

void turns_pass(struct turns *turns, unsigned cpu) {
  pthread_mutex_lock(&turns->lock);
  if (turns->holder != (int)cpu) {
    come(turns, cpu);
  } else {
    linger(turns, cpu);
    if (turns->holder != (int)cpu) {  // taken meanwhile, since the host let this thread wait
      come(turns, cpu);
    } else if (turns->waiting) {
      give(turns, next_waiting(turns, cpu));
      wait_for_turn(turns, cpu);
    }
  }
  pthread_mutex_unlock(&turns->lock);
}

void turns_expect(struct turns *turns, unsigned cpus) {
  pthread_mutex_lock(&turns->lock);
  turns->expected += cpus;
  pthread_mutex_unlock(&turns->lock);
}

void turns_leave(struct turns *turns, unsigned cpu) {
  pthread_mutex_lock(&turns->lock);
  turns->leaving |= 1ULL << cpu;
  turns->threads[cpu] = host_thread_number();
  if (turns->holder == (int)cpu) give(turns, next_waiting(turns, cpu));
  pthread_mutex_unlock(&turns->lock);
}
