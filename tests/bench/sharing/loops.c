// SPDX-License-Identifier: GPL-2.0-or-later
// loops PATTERN shared|private time MILLISECONDS: both loops of a pattern at once, each pinned to a core;
// prints the
//   nanoseconds that one iteration of each took.
// loops PATTERN shared|private count ITERATIONS: the same for a simulation, which has no use for time; prints
// the
//   address of the bytes they share.
// The patterns are in patterns.inc, which sharing_against_hardware.py writes.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <time.h>
#include <unistd.h>

enum { CORES = 2, APART = 2048, BATCH = 64 };
enum { WINDOW = 300000, LATE = 10000 };  // nanoseconds
static const double PATIENCE = 2e9;

#define READ(offset) (void)*(volatile uint64_t *)(bytes + (offset))
#define WRITE(offset) *(volatile uint64_t *)(bytes + (offset)) = i
#define ATOMIC(offset) __atomic_fetch_add((uint64_t *)(bytes + (offset)), 1, __ATOMIC_SEQ_CST)
#define WORK x = multiplied(x)

/// One step of private work, which the compiler may neither leave out nor foresee.
static inline uint64_t multiplied(uint64_t x) {
  __asm__ volatile("" : "+r"(x));
  return x * 6364136223846793005u;
}

typedef void loop(char *bytes, uint64_t from, uint64_t to);
struct pattern {
  loop *loops[CORES];
};

#include "patterns.inc"

enum { PATTERNS = sizeof(patterns) / sizeof(patterns[0]) };

/// One of the two threads; each on lines of its own.
struct runner {
  _Alignas(512) loop *loop;
  char *bytes;
  int core;
  uint64_t iterations;  // of a simulation; 0: windows
  double start;
  double nanoseconds;  // of one iteration in the last window
  bool whole;          // it had its core for the whole window
};

static _Alignas(4096) char memory[PATTERNS][2 * APART];
static _Alignas(512) atomic_long arrived;
static _Alignas(512) atomic_bool stop;

static double now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void pin(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof(one), &one);
}

/// Both wait here for each other. In a simulation, whose CPUs take turns, the one that waits gives its turn
/// away.
static void meet(bool gives_way) {
  const long turn = atomic_fetch_add(&arrived, 1) / CORES;
  while (atomic_load(&arrived) < (turn + 1) * CORES)
    if (gives_way) sched_yield();
}

static void run_window(struct runner *runner) {
  uint64_t done = 0;
  const double computed = now(CLOCK_THREAD_CPUTIME_ID);
  runner->start = now(CLOCK_MONOTONIC);
  double spent = 0;
  for (; spent < WINDOW; done += BATCH) {
    runner->loop(runner->bytes, done, done + BATCH);
    spent = now(CLOCK_MONOTONIC) - runner->start;
  }
  runner->whole = now(CLOCK_THREAD_CPUTIME_ID) - computed > 0.97 * spent;
  runner->nanoseconds = spent / (double)done;
}

static void *run(void *argument) {
  struct runner *runner = argument;
  pin(runner->core);
  meet(runner->iterations);
  if (runner->iterations) runner->loop(runner->bytes, 0, runner->iterations);
  while (!runner->iterations && !atomic_load(&stop)) {
    run_window(runner);
    meet(false);  // both are done
    meet(false);  // and looked at
  }
  return NULL;
}

// The region of interest of a recording: instructions that do nothing, with the magic operands.
static void region(bool starts) {
#if defined(__x86_64__)
  if (starts)
    __asm__ volatile(".byte 0x0f, 0x1f, 0x80; .long 0x4c534d01" ::: "memory");
  else
    __asm__ volatile(".byte 0x0f, 0x1f, 0x80; .long 0x4c534d00" ::: "memory");
#elif defined(__aarch64__)
  if (starts)
    __asm__ volatile("movz xzr, #0x4c01" ::: "memory");
  else
    __asm__ volatile("movz xzr, #0x4c00" ::: "memory");
#else
  (void)starts;
#endif
}

/// Prints the last window, where it was good; 1 then, otherwise 0.
static long printed(const struct runner *runners) {
  const double apart = runners[0].start - runners[1].start;
  const bool together = apart < LATE && apart > -LATE;
  if (!together || !runners[0].whole || !runners[1].whole) return 0;
  printf("%.4f %.4f\n", runners[0].nanoseconds, runners[1].nanoseconds);
  return 1;
}

/// Window after window until `wanted` were good, or patience ends.
static void time_windows(struct runner *runners, long wanted) {
  pthread_t second;
  pthread_create(&second, NULL, run, &runners[1]);
  pin(runners[0].core);
  meet(false);
  const double begin = now(CLOCK_MONOTONIC);
  for (long good = 0; !atomic_load(&stop);) {
    run_window(&runners[0]);
    meet(false);
    good += printed(runners);
    atomic_store(&stop, good >= wanted || now(CLOCK_MONOTONIC) - begin > PATIENCE);
    meet(false);
  }
  pthread_join(second, NULL);
}

static void run_both(struct runner *runners) {
  pthread_t threads[CORES];
  for (int each = 0; each < CORES; ++each) pthread_create(&threads[each], NULL, run, &runners[each]);
  for (int each = 0; each < CORES; ++each) pthread_join(threads[each], NULL);
}

static void make_runners(struct runner *runners, int pattern, char *second, uint64_t iterations) {
  char *const places[CORES] = {memory[pattern], second};
  for (int each = 0; each < CORES; ++each)
    runners[each] = (struct runner){
        .loop = patterns[pattern].loops[each], .bytes = places[each], .core = each, .iterations = iterations};
  atomic_store(&arrived, 0);
}

static void run_all(uint64_t iterations) {
  struct runner runners[CORES];
  region(true);
  for (int each = 0; each < PATTERNS; ++each) {
    make_runners(runners, each, memory[each], iterations);
    run_both(runners);
  }
  region(false);
  if (getpid() == 1) reboot(RB_POWER_OFF);
}

int main(int count, char **words) {
  if (count == 3 && !strcmp(words[1], "count")) {
    run_all(strtoull(words[2], NULL, 10));
  } else if (count == 5 && !strcmp(words[1], "time")) {
    struct runner runners[CORES];
    const int pattern = atoi(words[2]);
    make_runners(runners, pattern, memory[pattern] + (strcmp(words[3], "private") ? 0 : APART), 0);
    time_windows(runners, atol(words[4]));
  } else {
    return 2;
  }
  return 0;
}
