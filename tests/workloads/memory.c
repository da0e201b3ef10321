// SPDX-License-Identifier: GPL-2.0-or-later
// Mappings and page faults.
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "workload.h"

enum { PAGES = 64 };

static size_t length(void) { return (size_t)PAGES * (size_t)sysconf(_SC_PAGESIZE); }

/// A file of PAGES pages, all in the page cache, that every worker maps; its descriptor as a pointer.
static void *one_file(int workers) {
  (void)workers;
  const int file = memfd_create("workload", 0);
  if (file < 0 || ftruncate(file, (off_t)length())) fail("memfd_create");
  const char page[4096] = {1};
  for (size_t at = 0; at < length(); at += sizeof(page))
    if (pwrite(file, page, sizeof(page), (off_t)at) < 0) fail("pwrite");
  return (void *)(intptr_t)file;
}

static char *mapped(int flags, const void *shared) {
  const int file = flags & MAP_ANONYMOUS ? -1 : (int)(intptr_t)shared;
  char *start = mmap(NULL, length(), PROT_READ | PROT_WRITE, flags, file, 0);
  if (start == MAP_FAILED) fail("mmap");
  return start;
}

static void touch(char *start) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (size_t at = 0; at < length(); at += page) ((volatile char *)start)[at] = 1;
}

static void fault(const struct worker *worker, const void *shared, int flags) {
  for (long done = 0; done < worker->iterations; ++done) {
    char *start = mapped(flags, shared);
    touch(start);
    munmap(start, length());
  }
}

static void map(const struct worker *worker, const void *shared, int flags) {
  for (long done = 0; done < worker->iterations; ++done) munmap(mapped(flags, shared), length());
}

static void fault_anonymous(const struct worker *worker, void *shared) {
  fault(worker, shared, MAP_PRIVATE | MAP_ANONYMOUS);
}

static void fault_private(const struct worker *worker, void *shared) { fault(worker, shared, MAP_PRIVATE); }

static void fault_shared(const struct worker *worker, void *shared) { fault(worker, shared, MAP_SHARED); }

static void map_anonymous(const struct worker *worker, void *shared) {
  map(worker, shared, MAP_PRIVATE | MAP_ANONYMOUS);
}

static void map_file(const struct worker *worker, void *shared) { map(worker, shared, MAP_SHARED); }

const struct workload memory_workloads[] = {
    {.name = "fault_anonymous", .about = "write faults on fresh memory", .run = fault_anonymous},
    {.name = "fault_private",
     .about = "write faults on private mappings of one file",
     .prepare = one_file,
     .run = fault_private},
    {.name = "fault_shared",
     .about = "write faults on shared mappings of one file",
     .prepare = one_file,
     .run = fault_shared},
    {.name = "map_anonymous", .about = "mmap and munmap without a touch", .run = map_anonymous},
    {.name = "map_file",
     .about = "mmap and munmap of one file without a touch",
     .prepare = one_file,
     .run = map_file},
    {0},
};
