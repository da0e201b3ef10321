/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a link has carried: one worker counts what comes in, another what goes out, both look at the limits;
 * all of it is mixed on one line. */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

struct traffic {
  alignas(64) _Atomic uint64_t
      packets_in;               /* written by the worker that receives, like all that ends in _in */
  _Atomic uint64_t packets_out; /* written by the worker that sends, like all that ends in _out */
  uint64_t shortest;            /* looked at by both */
  _Atomic uint64_t bytes_in;
  _Atomic uint64_t bytes_out;
  uint64_t overhead; /* looked at by both */
  _Atomic uint64_t short_in;
  _Atomic uint64_t short_out;
  const char *name;
  uint64_t created;
  uint64_t speed;
  uint64_t refused;
  void (*on_close)(struct traffic *traffic);
  void *on_close_context;
  uint64_t owner;
  uint64_t group;
  uint64_t generation;
  uint64_t opened;
  uint64_t closed;
  const char *peer;
  uint64_t peer_port;
  uint64_t port;
  uint64_t retries;
  uint64_t failures;
};

#endif
