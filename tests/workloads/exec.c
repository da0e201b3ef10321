// SPDX-License-Identifier: GPL-2.0-or-later
// Processes that come and go: every one maps and unmaps the same few files.
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

static pid_t forked(void) {
  const pid_t child = fork();
  if (child < 0) fail("fork");
  return child;
}

static void reap(pid_t child) {
  int status;
  if (waitpid(child, &status, 0) < 0) fail("waitpid");
  if (status) _exit(2);
}

static void exec_storm(const struct worker *worker, void *shared) {
  (void)shared;
  for (long done = 0; done < worker->iterations; ++done) {
    const pid_t child = forked();
    if (child == 0) {
      execl("/bin/sh", "sh", "-c", ":", (char *)NULL);
      _exit(127);
    }
    reap(child);
  }
}

// Built without -static, the program maps its libraries anew each time, as every ordinary program does.
static void exec_self(const struct worker *worker, void *shared) {
  (void)shared;
  for (long done = 0; done < worker->iterations; ++done) {
    const pid_t child = forked();
    if (child == 0) {
      execl("/proc/self/exe", "workload", "--nothing", (char *)NULL);
      _exit(127);
    }
    reap(child);
  }
}

static void fork_exit(const struct worker *worker, void *shared) {
  (void)shared;
  for (long done = 0; done < worker->iterations; ++done) {
    const pid_t child = forked();
    if (child == 0) _exit(0);
    reap(child);
  }
}

const struct workload exec_workloads[] = {
    {.name = "exec_storm", .about = "fork and exec of a shell that ends at once", .run = exec_storm},
    {.name = "exec_self", .about = "fork and exec of this program, which ends at once", .run = exec_self},
    {.name = "fork_exit", .about = "fork of a child that ends at once", .run = fork_exit},
    {0},
};
