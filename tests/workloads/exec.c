// SPDX-License-Identifier: GPL-2.0-or-later
// Processes that come and go: every one maps and unmaps the same few files.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

enum { COPIES = 8 };

/// A directory with copies of this program, 0 to COPIES - 1.
struct copies {
  char path[32];
};

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
static void run_program(const char *path) {
  const pid_t child = forked();
  if (child == 0) {
    execl(path, "workload", "--nothing", (char *)NULL);
    _exit(127);
  }
  reap(child);
}

static void exec_self(const struct worker *worker, void *shared) {
  (void)shared;
  for (long done = 0; done < worker->iterations; ++done) run_program("/proc/self/exe");
}

static void copy_path(char *path, size_t size, const struct copies *copies, long number) {
  snprintf(path, size, "%s/%ld", copies->path, number % COPIES);
}

static void copy_program(const char *path) {
  const int from = open("/proc/self/exe", O_RDONLY);
  const int to = open(path, O_CREAT | O_WRONLY, 0700);
  struct stat program;
  if (from < 0 || to < 0 || fstat(from, &program)) fail("open");
  for (off_t at = 0; at < program.st_size;)
    if (sendfile(to, from, &at, (size_t)program.st_size) <= 0) fail("sendfile");
  close(from);
  close(to);
}

static void *copies_of_self(int workers) {
  (void)workers;
  struct copies *copies = malloc(sizeof(*copies));
  if (!copies) fail("malloc");
  *copies = (struct copies){.path = "/tmp/workload.XXXXXX"};
  mkdir("/tmp", 01777);  // a guest's root may lack it; where it is there, this does nothing
  if (!mkdtemp(copies->path)) fail("mkdtemp");
  for (long each = 0; each < COPIES; ++each) {
    char path[64];
    copy_path(path, sizeof(path), copies, each);
    copy_program(path);
  }
  return copies;
}

// Inodes that follow each other in a slab start at different places of a cache line, so the copies stand for
// all places that the inode of one program may have.
static void exec_copies(const struct worker *worker, void *shared) {
  for (long done = 0; done < worker->iterations; ++done) {
    char path[64];
    copy_path(path, sizeof(path), shared, done);
    run_program(path);
  }
}

static void remove_copies(void *shared) {
  const struct copies *copies = shared;
  for (long each = 0; each < COPIES; ++each) {
    char path[64];
    copy_path(path, sizeof(path), copies, each);
    unlink(path);
  }
  rmdir(copies->path);
  free(shared);
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
    {.name = "exec_copies",
     .about = "fork and exec of eight copies of this program in turn",
     .prepare = copies_of_self,
     .run = exec_copies,
     .finish = remove_copies},
    {.name = "fork_exit", .about = "fork of a child that ends at once", .run = fork_exit},
    {0},
};
