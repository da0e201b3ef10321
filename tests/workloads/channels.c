// SPDX-License-Identifier: GPL-2.0-or-later
// Bytes through pipes and unix sockets.
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "workload.h"

static void send_byte(int end) {
  const char byte = 1;
  if (write(end, &byte, 1) != 1) fail("write");
}

static void receive_byte(int end) {
  char byte;
  if (read(end, &byte, 1) != 1) fail("read");
}

static void through(const struct worker *worker, const int ends[2]) {
  for (long done = 0; done < worker->iterations; ++done) {
    send_byte(ends[1]);
    receive_byte(ends[0]);
  }
}

static void pipe_own(const struct worker *worker, void *shared) {
  (void)shared;
  int ends[2];
  if (pipe(ends)) fail("pipe");
  through(worker, ends);
}

static void *one_pipe(int workers) {
  (void)workers;
  int *ends = malloc(2 * sizeof(*ends));
  if (!ends || pipe(ends)) fail("pipe");
  return ends;
}

// Every worker writes before it reads, so the pipe is never empty for all of them.
static void pipe_shared(const struct worker *worker, void *shared) { through(worker, shared); }

static void unix_own(const struct worker *worker, void *shared) {
  (void)shared;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) fail("socketpair");
  through(worker, ends);
}

/// A connected pair of sockets for every two workers.
static void *socket_pairs(int workers) {
  errno = EINVAL;
  if (workers % 2) fail("unix_pairs needs an even number of workers");
  int *ends = malloc((size_t)workers * sizeof(*ends));
  if (!ends) fail("malloc");
  for (int each = 0; each < workers; each += 2)
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends + each)) fail("socketpair");
  return ends;
}

static void unix_pairs(const struct worker *worker, void *shared) {
  const int end = ((const int *)shared)[worker->index];
  for (long done = 0; done < worker->iterations; ++done) {
    if (worker->index % 2 == 0) send_byte(end);
    receive_byte(end);
    if (worker->index % 2 == 1) send_byte(end);
  }
}

const struct workload channel_workloads[] = {
    {.name = "pipe_own", .about = "a byte through a pipe of the worker's own", .run = pipe_own},
    {.name = "pipe_shared",
     .about = "bytes of all workers through one pipe",
     .prepare = one_pipe,
     .run = pipe_shared},
    {.name = "unix_own", .about = "a byte through a unix socket of the worker's own", .run = unix_own},
    {.name = "unix_pairs",
     .about = "a byte back and forth between two workers",
     .prepare = socket_pairs,
     .run = unix_pairs},
    {0},
};
