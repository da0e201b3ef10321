// SPDX-License-Identifier: GPL-2.0-or-later
// Paths and descriptors.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "workload.h"

/// A directory with a file for each worker.
struct directory {
  char path[32];
  int workers;
};

static void file_path(char *path, size_t size, const struct directory *directory, int index) {
  snprintf(path, size, "%s/%d", directory->path, index);
}

static void *directory_for(int workers) {
  struct directory *directory = malloc(sizeof(*directory));
  if (!directory) fail("malloc");
  *directory = (struct directory){.path = "/tmp/workload.XXXXXX", .workers = workers};
  mkdir("/tmp", 01777);  // a guest's root may lack it; where it is there, this does nothing
  if (!mkdtemp(directory->path)) fail("mkdtemp");
  for (int each = 0; each < workers; ++each) {
    char path[64];
    file_path(path, sizeof(path), directory, each);
    const int file = open(path, O_CREAT | O_WRONLY, 0600);
    if (file < 0) fail("open");
    close(file);
  }
  return directory;
}

static void remove_directory(void *shared) {
  const struct directory *directory = shared;
  for (int each = 0; each < directory->workers; ++each) {
    char path[64];
    file_path(path, sizeof(path), directory, each);
    unlink(path);
  }
  rmdir(directory->path);
  free(shared);
}

static void open_nth(const struct worker *worker, const struct directory *directory, int index) {
  char path[64];
  file_path(path, sizeof(path), directory, index);
  for (long done = 0; done < worker->iterations; ++done) {
    const int file = open(path, O_RDONLY);
    if (file < 0) fail("open");
    close(file);
  }
}

static void open_same(const struct worker *worker, void *shared) { open_nth(worker, shared, 0); }

static void open_separate(const struct worker *worker, void *shared) {
  open_nth(worker, shared, worker->index);
}

/// One open file with a page in it, which every worker inherits; its descriptor as a pointer.
static void *one_open_file(int workers) {
  (void)workers;
  const int file = memfd_create("workload", 0);
  const char page[4096] = {1};
  if (file < 0 || pwrite(file, page, sizeof(page), 0) < 0) fail("memfd_create");
  return (void *)(intptr_t)file;
}

static void dup_close(const struct worker *worker, void *shared) {
  for (long done = 0; done < worker->iterations; ++done) {
    const int copy = dup((int)(intptr_t)shared);
    if (copy < 0) fail("dup");
    close(copy);
  }
}

static void read_same(const struct worker *worker, void *shared) {
  char first;
  for (long done = 0; done < worker->iterations; ++done)
    if (pread((int)(intptr_t)shared, &first, 1, 0) != 1) fail("pread");
}

const struct workload file_workloads[] = {
    {.name = "open_same",
     .about = "open and close of one path",
     .prepare = directory_for,
     .run = open_same,
     .finish = remove_directory},
    {.name = "open_separate",
     .about = "open and close of a path for each worker",
     .prepare = directory_for,
     .run = open_separate,
     .finish = remove_directory},
    {.name = "dup_close",
     .about = "dup and close of one open file",
     .prepare = one_open_file,
     .run = dup_close},
    {.name = "read_same",
     .about = "pread of one byte of one open file",
     .prepare = one_open_file,
     .run = read_same},
    {0},
};
