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

enum { CORES = 2, APART = 2048, BATCH = 1024 };

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
  uint64_t iterations;  // 0: until told to stop
  double nanoseconds;   // of one iteration
};

static _Alignas(4096) char memory[PATTERNS][2 * APART];
static _Alignas(512) atomic_int ready;
static _Alignas(512) atomic_bool stop;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void pin(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof(one), &one);
}

static uint64_t until_stopped(const struct runner *runner) {
  uint64_t done = 0;
  for (; !atomic_load_explicit(&stop, memory_order_relaxed); done += BATCH)
    runner->loop(runner->bytes, done, done + BATCH);
  return done;
}

static uint64_t counted(const struct runner *runner) {
  runner->loop(runner->bytes, 0, runner->iterations);
  return runner->iterations;
}

static void *run(void *argument) {
  struct runner *runner = argument;
  pin(runner->core);
  atomic_fetch_add(&ready, 1);
  while (atomic_load(&ready) < CORES) sched_yield();
  const double begin = now();
  const uint64_t done = (runner->iterations ? counted : until_stopped)(runner);
  runner->nanoseconds = (now() - begin) / (double)done;
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

static void run_both(struct runner *runners, long milliseconds) {
  pthread_t threads[CORES];
  const struct timespec length = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  for (int each = 0; each < CORES; ++each) pthread_create(&threads[each], NULL, run, &runners[each]);
  if (milliseconds) nanosleep(&length, NULL);
  atomic_store(&stop, true);
  for (int each = 0; each < CORES; ++each) pthread_join(threads[each], NULL);
}

static void run_pattern(int pattern, char *first, char *second, uint64_t iterations, long milliseconds) {
  char *const places[CORES] = {first, second};
  struct runner runners[CORES];
  for (int each = 0; each < CORES; ++each)
    runners[each] = (struct runner){
        .loop = patterns[pattern].loops[each], .bytes = places[each], .core = each, .iterations = iterations};
  atomic_store(&ready, 0);
  run_both(runners, milliseconds);
  if (milliseconds) printf("%.4f %.4f\n", runners[0].nanoseconds, runners[1].nanoseconds);
}

static void run_all(uint64_t iterations) {
  region(true);
  for (int each = 0; each < PATTERNS; ++each) run_pattern(each, memory[each], memory[each], iterations, 0);
  region(false);
  if (getpid() == 1) reboot(RB_POWER_OFF);
}

int main(int count, char **words) {
  if (count == 3 && !strcmp(words[1], "count")) {
    run_all(strtoull(words[2], NULL, 10));
  } else if (count == 5 && !strcmp(words[1], "time")) {
    char *apart = memory[0] + (strcmp(words[3], "private") ? 0 : APART);
    run_pattern(atoi(words[2]), memory[0], apart, 0, atol(words[4]));
  } else {
    return 2;
  }
  return 0;
}
