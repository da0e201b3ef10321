// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "call_paths.h"

#include <string.h>
#include <sys/mman.h>

// A kernel comes to its contended lines on some 20,000 ways; pages never touched cost nothing.
enum { PATHS_MAX = 1 << 18, SLOTS = PATHS_MAX * 2 };

static void *reserve(size_t bytes) {
  void *memory =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

bool call_paths_open(struct call_paths *paths) {
  *paths = (struct call_paths){.lock = PTHREAD_MUTEX_INITIALIZER,
                               .paths = reserve(PATHS_MAX * sizeof *paths->paths),
                               .slots = reserve(SLOTS * sizeof *paths->slots),
                               .count = 1};
  return paths->paths && paths->slots;
}

void call_paths_close(struct call_paths *paths) {
  if (paths->paths) munmap(paths->paths, PATHS_MAX * sizeof *paths->paths);
  if (paths->slots) munmap(paths->slots, SLOTS * sizeof *paths->slots);
}

static uint32_t first_slot(const struct recording_path *path) {
  uint64_t hash = 0;
  for (int caller = 0; caller < RECORDING_CALLERS; caller++)
    hash = (hash ^ hash >> 29 ^ path->callers[caller]) * 0x9e3779b97f4a7c15ULL;
  return (uint32_t)(hash >> 32) & (SLOTS - 1);
}

static uint32_t find_or_add(struct call_paths *paths, const struct recording_path *path) {
  uint32_t slot = first_slot(path);
  for (; paths->slots[slot]; slot = (slot + 1) & (SLOTS - 1))
    if (!memcmp(&paths->paths[paths->slots[slot] - 1], path, sizeof *path)) return paths->slots[slot] - 1;
  if (paths->count == PATHS_MAX) {
    paths->dropped++;
    return 0;
  }
  paths->paths[paths->count] = *path;
  paths->slots[slot] = paths->count + 1;
  return paths->count++;
}

uint32_t call_paths_number(struct call_paths *paths, const struct call_stack *stack) {
  struct recording_path path = {0};
  for (uint32_t caller = 0; caller < RECORDING_CALLERS && caller < stack->depth; caller++)
    path.callers[caller] = code_place_address(stack->returns[(stack->top - 1 - caller) % CALLS_DEPTH]);
  if (!path.callers[0]) return 0;
  pthread_mutex_lock(&paths->lock);
  uint32_t number = find_or_add(paths, &path);
  pthread_mutex_unlock(&paths->lock);
  return number;
}
