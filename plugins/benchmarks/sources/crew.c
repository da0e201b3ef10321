// SPDX-License-Identifier: GPL-2.0-or-later
// Starts workers as threads or as processes, lets them begin together, and tells what they did.
#define _GNU_SOURCE
#include "crew.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/// One worker's way into its loop, and what it has to tell; lines of its own, so that workers do not meet
/// here.
struct place {
  _Alignas(256) struct worker worker;
  struct crew *crew;
  double began;
  double ended;
};

/// All that the workers share, processes too.
struct crew {
  pthread_barrier_t together;
  const struct order *order;
  work_function *work;
  void *context;
  struct place places[];
};

void fail(const char *what) {
  fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
  exit(2);
}

static _Noreturn void refuse(const char *option, const char *text, const char *wanted) {
  fprintf(stderr, "%s: %s is %s: give %s\n", program_invocation_short_name, option, text, wanted);
  exit(2);
}

long whole_number(const char *option, const char *text, long least, long most) {
  char *end;
  errno = 0;
  const long value = strtol(text, &end, 10);
  if (errno || *end || end == text || value < least || value > most)
    refuse(option, text, "another whole number");
  return value;
}

static double some_seconds(const char *option, const char *text) {
  char *end;
  const double value = strtod(text, &end);
  if (*end || end == text || !isfinite(value) || value <= 0) refuse(option, text, "seconds above 0");
  return value;
}

bool take_order(struct order *order, int option) {
  switch (option) {
    case 'w':
      order->workers = (int)whole_number("--workers", optarg, 1, MOST_WORKERS);
      return true;
    case 'o':
      order->operations = whole_number("--operations", optarg, 1, LONG_MAX / MOST_WORKERS);
      return true;
    case 's':
      order->seconds = some_seconds("--seconds", optarg);
      return true;
    default:
      return false;
  }
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double seconds_of(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec * 1e-6; }

/// Seconds of CPU that this process and all that it has waited for have had.
static double cpu_seconds(void) {
  struct rusage own, waited;
  if (getrusage(RUSAGE_SELF, &own) || getrusage(RUSAGE_CHILDREN, &waited)) fail("getrusage");
  return seconds_of(own.ru_utime) + seconds_of(own.ru_stime) + seconds_of(waited.ru_utime) +
         seconds_of(waited.ru_stime);
}

bool more_to_do(const struct worker *worker) {
  return worker->until > 0 ? now() < worker->until : worker->done < worker->operations;
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
  struct place *place = argument;
  struct crew *crew = place->crew;
  if (!crew->order->anywhere) pin(place->worker.index);
  pthread_barrier_wait(&crew->together);
  place->began = now();
  if (crew->order->seconds > 0) place->worker.until = place->began + crew->order->seconds;
  crew->work(&place->worker, crew->context);
  place->ended = now();
  return NULL;
}

static void run_threads(struct crew *crew) {
  pthread_t threads[MOST_WORKERS];
  for (int each = 0; each < crew->order->workers; ++each)
    if ((errno = pthread_create(&threads[each], NULL, work, &crew->places[each]))) fail("pthread_create");
  for (int each = 0; each < crew->order->workers; ++each) pthread_join(threads[each], NULL);
}

/// Whoever waits at the barrier for a worker that failed is ended with us.
static void end_with(pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL)) fail("prctl");
  if (getppid() != parent) _exit(2);
}

static void run_processes(struct crew *crew) {
  const pid_t parent = getpid();
  for (int each = 0; each < crew->order->workers; ++each) {
    const pid_t child = fork();
    if (child < 0) fail("fork");
    if (child == 0) {
      end_with(parent);
      work(&crew->places[each]);
      _exit(0);
    }
  }
  for (int each = 0; each < crew->order->workers; ++each) {
    int status;
    if (wait(&status) < 0) fail("wait");
    if (status) exit(2);
  }
}

static struct crew *crew_of(const struct order *order, work_function *function, void *context) {
  const size_t size = sizeof(struct crew) + (size_t)order->workers * sizeof(struct place);
  struct crew *crew = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (crew == MAP_FAILED) fail("mmap");
  pthread_barrierattr_t shared;
  pthread_barrierattr_init(&shared);
  pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  if ((errno = pthread_barrier_init(&crew->together, &shared, (unsigned)order->workers)))
    fail("pthread_barrier_init");
  crew->order = order;
  crew->work = function;
  crew->context = context;
  for (int each = 0; each < order->workers; ++each) {
    crew->places[each].worker = (struct worker){.index = each, .operations = order->operations};
    crew->places[each].crew = crew;
  }
  return crew;
}

/// From the first that began to the last that ended.
static void report(const char *benchmark, const struct crew *crew, double cpu) {
  double began = INFINITY, ended = 0;
  long done = 0;
  for (int each = 0; each < crew->order->workers; ++each) {
    const struct place *place = &crew->places[each];
    if (place->began < began) began = place->began;
    if (place->ended > ended) ended = place->ended;
    done += place->worker.done;
  }
  const double seconds = ended - began;
  printf("benchmark %s\nworkers %d\noperations %ld\n", benchmark, crew->order->workers, done);
  printf("seconds %.9f\ncpu-seconds %.6f\nper-second %.3f\n", seconds, cpu, (double)done / seconds);
}

void run_crew(const char *benchmark, const struct order *order, work_function *function, void *context) {
  struct crew *crew = crew_of(order, function, context);
  const double before = cpu_seconds();
  (order->processes ? run_processes : run_threads)(crew);
  report(benchmark, crew, cpu_seconds() - before);
  if (fflush(stdout)) fail("write");
}
