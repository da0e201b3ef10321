/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server whose settings are read for every request; a statistic that is written as often lies beside them.
 */
#ifndef SERVER_H
#define SERVER_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

struct settings {
  uint64_t longest;
  uint64_t priority;
};

struct server {
  alignas(64) const char *name;
  struct settings *settings; /* looked at for every request, replaced when somebody edits them */
  _Atomic uint64_t accepted; /* counted by the worker that accepts connections */
  uint64_t created;
  uint64_t port;
  uint64_t backlog;
  void (*on_stop)(struct server *server);
  void *on_stop_context;
  uint64_t flags;
  uint64_t generation;
  uint64_t most_at_once;
  uint64_t refused;
};

#endif
