/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of routes: lookups take no lock, the lock of the writers lies right beside what lookups read. */
#ifndef ROUTES_H
#define ROUTES_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

struct route {
  uint64_t prefix;
  uint64_t gateway;
};

struct route_table {
  alignas(64) struct route *routes; /* every lookup begins here */
  uint64_t mask;                    /* of the hash, for every lookup */
  atomic_uint lock;                 /* one writer at a time */
  uint32_t holder;
  uint64_t seed;
  uint64_t created;
  const char *name;
  uint64_t limit;
  uint64_t flags;
  uint64_t *refreshed; /* when each route was last heard of; the lock protects these */
  uint64_t oldest;
  void (*on_expire)(struct route *route);
};

#endif
