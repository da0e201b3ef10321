/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A ring with one sender and one receiver: what each side writes all the time lies beside what the other
 * writes. */
#ifndef CHANNEL_H
#define CHANNEL_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

struct channel {
  alignas(64) uint64_t *slots;
  uint64_t mask;
  _Atomic uint64_t sent;     /* written by the sender, read by the receiver when it runs dry */
  uint64_t sent_limit;       /* the sender's: up to here there is room */
  _Atomic uint64_t received; /* written by the receiver, read by the sender when it runs full */
  uint64_t received_limit;   /* the receiver's: up to here there are messages */
  const char *name;
  uint64_t created;
  uint64_t largest;
  void (*on_close)(struct channel *channel);
  void *on_close_context;
  uint64_t flags;
};

#endif
