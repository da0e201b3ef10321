// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "sites.h"

#include <stddef.h>
#include <sys/mman.h>

// A kernel runs some 200,000 different instructions that touch memory; pages never touched cost nothing.
enum { SITES_MAX = 1 << 20, SLOTS = SITES_MAX * 2 };

static void *reserve(size_t bytes) {
  void *memory =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

bool sites_open(struct sites *sites) {
  *sites = (struct sites){.lock = PTHREAD_MUTEX_INITIALIZER,
                          .sites = reserve(SITES_MAX * sizeof *sites->sites),
                          .addresses = reserve(SITES_MAX * sizeof *sites->addresses),
                          .slots = reserve(SLOTS * sizeof *sites->slots)};
  return sites->sites && sites->addresses && sites->slots;
}

void sites_close(struct sites *sites) {
  if (sites->sites) munmap(sites->sites, SITES_MAX * sizeof *sites->sites);
  if (sites->addresses) munmap(sites->addresses, SITES_MAX * sizeof *sites->addresses);
  if (sites->slots) munmap(sites->slots, SLOTS * sizeof *sites->slots);
}

/** Fibonacci hashing: instruction addresses differ in their low bits. */
static uint32_t first_slot(uint64_t address, struct instruction_habit habit) {
  return (uint32_t)(((address << 2 | habit.atomic << 1 | habit.repeated) * 0x9e3779b97f4a7c15ULL) >> 32) &
         (SLOTS - 1);
}

static bool same_habit(struct instruction_habit one, struct instruction_habit other) {
  return one.atomic == other.atomic && one.repeated == other.repeated;
}

static struct site *find_or_add(struct sites *sites, uint64_t address, struct instruction_habit habit) {
  uint32_t slot = first_slot(address, habit);
  for (; sites->slots[slot]; slot = (slot + 1) & (SLOTS - 1)) {
    struct site *site = &sites->sites[sites->slots[slot] - 1];
    if (site->address == address && same_habit(site->habit, habit)) return site;
  }
  if (sites->count == SITES_MAX) {
    sites->dropped++;
    return NULL;
  }
  uint32_t number = sites->count++;
  sites->slots[slot] = number + 1;
  sites->addresses[number] = address;
  sites->sites[number] = (struct site){.address = address, .number = number, .habit = habit};
  return &sites->sites[number];
}

struct site *sites_find_or_add(struct sites *sites, uint64_t address, struct instruction_habit habit) {
  pthread_mutex_lock(&sites->lock);
  struct site *site = find_or_add(sites, address, habit);
  pthread_mutex_unlock(&sites->lock);
  return site;
}
