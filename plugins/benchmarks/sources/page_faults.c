// SPDX-License-Identifier: GPL-2.0-or-later
// page-faults [--workers N] [--operations N | --seconds S] [--pages N] [--mapping own|one] [--memory
// anonymous|file]
//             [--processes]
//
// Each worker touches pages that are not there yet; an operation is one page. With `own` mappings each round
// maps, touches and unmaps, so that the workers of an address space meet at its lock; with `one` mapping for
// all they touch slices of the same one and give the pages back, so that they meet at what the kernel keeps
// for that mapping.
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "crew.h"

enum { MOST_PAGES = 1 << 20 };

/// What is mapped: `file` is -1 for anonymous memory, `start` is set where one mapping is for all.
struct memory {
  size_t page;
  size_t bytes;
  int file;
  char *start;
};

static char *map(const struct memory *memory, size_t bytes) {
  const int flags = memory->file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  char *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, memory->file, 0);
  if (start == MAP_FAILED) fail("mmap");
  return start;
}

static void touch(const struct memory *memory, volatile char *start) {
  for (size_t at = 0; at < memory->bytes; at += memory->page) start[at] = 1;
}

static void fault_own(struct worker *worker, void *context) {
  const struct memory *memory = context;
  while (more_to_do(worker)) {
    char *start = map(memory, memory->bytes);
    touch(memory, start);
    if (munmap(start, memory->bytes)) fail("munmap");
    worker->done += (long)(memory->bytes / memory->page);
  }
}

static void fault_slice(struct worker *worker, void *context) {
  const struct memory *memory = context;
  char *slice = memory->start + (size_t)worker->index * memory->bytes;
  while (more_to_do(worker)) {
    touch(memory, slice);
    if (madvise(slice, memory->bytes, MADV_DONTNEED)) fail("madvise");
    worker->done += (long)(memory->bytes / memory->page);
  }
}

/// A file in memory whose pages are all there, so that a fault only has to find them.
static int filled_file(size_t bytes) {
  const int file = memfd_create("page-faults", 0);
  const char page[4096] = {1};
  if (file < 0) fail("memfd_create");
  for (size_t at = 0; at < bytes; at += sizeof(page))
    if (pwrite(file, page, sizeof(page), (off_t)at) < 0) fail("pwrite");
  return file;
}

static const char *one_of(const char *option, const char *text, const char *first, const char *second) {
  if (!strcmp(text, first)) return first;
  if (!strcmp(text, second)) return second;
  fprintf(stderr, "page-faults: %s is %s: give %s or %s\n", option, text, first, second);
  _exit(2);
}

/// What the words ask for.
struct request {
  struct order order;
  long pages;
  const char *mapping;
  const char *memory;
};

static const struct option options[] = {
    ORDER_OPTIONS,
    {"pages", required_argument, NULL, 'n'},
    {"mapping", required_argument, NULL, 'm'},
    {"memory", required_argument, NULL, 'k'},
    {"processes", no_argument, NULL, 'p'},
    {0},
};

static void take(struct request *request, int option) {
  if (take_order(&request->order, option)) return;
  switch (option) {
    case 'n':
      request->pages = whole_number("--pages", optarg, 1, MOST_PAGES);
      break;
    case 'm':
      request->mapping = one_of("--mapping", optarg, "own", "one");
      break;
    case 'k':
      request->memory = one_of("--memory", optarg, "anonymous", "file");
      break;
    case 'p':
      request->order.processes = true;
      break;
    default:
      _exit(2);
  }
}

int main(int count, char **words) {
  struct request request = {
      .order = {.workers = 1, .operations = 100000}, .pages = 64, .mapping = "own", .memory = "anonymous"};
  for (int option; (option = getopt_long(count, words, "", options, NULL)) != -1;) take(&request, option);
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);  // a huge page would be one fault instead of hundreds
  struct memory memory = {.page = (size_t)sysconf(_SC_PAGESIZE), .file = -1};
  memory.bytes = (size_t)request.pages * memory.page;
  const size_t all = memory.bytes * (size_t)request.order.workers;
  if (*request.memory == 'f') memory.file = filled_file(all);
  const bool one = !strcmp(request.mapping, "one");
  if (one) memory.start = map(&memory, all);
  run_crew("page-faults", &request.order, one ? fault_slice : fault_own, &memory);
  return 0;
}
