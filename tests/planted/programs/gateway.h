/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A gateway: what is looked at for every request and what is counted for every connection alternate. */
#ifndef GATEWAY_H
#define GATEWAY_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

struct gateway {
  alignas(64) const uint64_t *weights; /* looked at for every request */
  _Atomic uint64_t accepted;           /* written for every connection */
  uint64_t longest;                    /* looked at for every request */
  uint64_t newest;                     /* written for every connection */
  uint64_t mask;                       /* looked at for every request */
  uint64_t busiest;                    /* written for every connection */
  const char *name;
  uint64_t created;
  uint64_t port;
  uint64_t backlog;
  void (*on_stop)(struct gateway *gateway);
  void *on_stop_context;
  uint64_t flags;
  uint64_t generation;
  uint64_t refused;
  uint64_t owner;
};

#endif
