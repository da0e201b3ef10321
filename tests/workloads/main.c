// SPDX-License-Identifier: GPL-2.0-or-later
// workload [--threads] NAME WORKERS ITERATIONS: one loop by its name, on WORKERS processes or threads.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

enum { MOST_WORKERS = 64 };

/// What one call of the program asks for.
struct order {
  const struct workload *workload;
  bool threads;
  int workers;
  long iterations;
};

/// One worker's way into the loop.
struct start {
  const struct order *order;
  void *shared;
  pthread_barrier_t *together;
  int index;
};

static const struct workload *const all_workloads[] = {
    exec_workloads,   memory_workloads, file_workloads,   channel_workloads,
    signal_workloads, futex_workloads,  cgroup_workloads,
};
enum { PARTS = sizeof(all_workloads) / sizeof(all_workloads[0]) };

void fail(const char *what) {
  fprintf(stderr, "workload: %s: %s\n", what, strerror(errno));
  exit(2);
}

static const struct workload *named(const char *name) {
  for (int part = 0; part < PARTS; ++part)
    for (const struct workload *each = all_workloads[part]; each->name; ++each)
      if (!strcmp(each->name, name)) return each;
  return NULL;
}

static _Noreturn void usage(void) {
  fprintf(stderr, "usage: workload [--threads] NAME WORKERS ITERATIONS, where NAME is one of\n");
  for (int part = 0; part < PARTS; ++part)
    for (const struct workload *each = all_workloads[part]; each->name; ++each)
      fprintf(stderr, "  %-18s %s\n", each->name, each->about);
  exit(2);
}

static long positive(const char *text, long most) {
  char *end;
  errno = 0;
  const long value = strtol(text, &end, 10);
  if (errno || *end || end == text || value < 1 || value > most) usage();
  return value;
}

static struct order order_of(int count, char **words) {
  struct order order = {.threads = count == 5 && !strcmp(words[1], "--threads")};
  char **rest = words + 1 + order.threads;
  if (count - order.threads != 4 || !(order.workload = named(rest[0]))) usage();
  order.workers = (int)positive(rest[1], MOST_WORKERS);
  order.iterations = positive(rest[2], 1L << 40);
  return order;
}

/// The n-th CPU that this process may run on; workers beyond the last begin again at the first.
static int nth_cpu(int n) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed)) fail("sched_getaffinity");
  n %= CPU_COUNT(&allowed);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &allowed) || n-- > 0) ++cpu;
  return cpu;
}

static void pin(int index) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(nth_cpu(index), &one);
  if (sched_setaffinity(0, sizeof(one), &one)) fail("sched_setaffinity");
}

static void *work(void *argument) {
  const struct start *start = argument;
  const struct worker worker = {
      .index = start->index,
      .workers = start->order->workers,
      .iterations = start->order->iterations,
  };
  pin(worker.index);
  pthread_barrier_wait(start->together);
  start->order->workload->run(&worker, start->shared);
  return NULL;
}

static void run_threads(struct start *starts, int workers) {
  pthread_t threads[MOST_WORKERS];
  for (int each = 0; each < workers; ++each)
    if ((errno = pthread_create(&threads[each], NULL, work, &starts[each]))) fail("pthread_create");
  for (int each = 0; each < workers; ++each) pthread_join(threads[each], NULL);
}

static void run_processes(struct start *starts, int workers) {
  pid_t children[MOST_WORKERS];
  for (int each = 0; each < workers; ++each) {
    children[each] = fork();
    if (children[each] < 0) fail("fork");
    if (children[each] == 0) {
      work(&starts[each]);
      _exit(0);
    }
  }
  for (int each = 0; each < workers; ++each) {
    int status;
    if (waitpid(children[each], &status, 0) < 0) fail("waitpid");
    if (status) exit(2);
  }
}

static pthread_barrier_t *barrier_for(int workers) {
  pthread_barrier_t *barrier =
      mmap(NULL, sizeof(*barrier), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (barrier == MAP_FAILED) fail("mmap");
  pthread_barrierattr_t shared;
  pthread_barrierattr_init(&shared);
  pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  if ((errno = pthread_barrier_init(barrier, &shared, (unsigned)workers))) fail("pthread_barrier_init");
  return barrier;
}

int main(int count, char **words) {
  if (count == 2 && !strcmp(words[1], "--nothing")) return 0;
  const struct order order = order_of(count, words);
  void *shared = order.workload->prepare ? order.workload->prepare(order.workers) : NULL;
  pthread_barrier_t *together = barrier_for(order.workers);
  struct start starts[MOST_WORKERS];
  for (int each = 0; each < order.workers; ++each)
    starts[each] = (struct start){.order = &order, .shared = shared, .together = together, .index = each};
  (order.threads ? run_threads : run_processes)(starts, order.workers);
  if (order.workload->finish) order.workload->finish(shared);
  printf("%s: %d workers, %ld iterations each\n", order.workload->name, order.workers, order.iterations);
  return 0;
}
