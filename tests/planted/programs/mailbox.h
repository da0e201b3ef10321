/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A message that two workers hand to each other: half of it lies on one cache line and half on the next. */
#ifndef MAILBOX_H
#define MAILBOX_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

struct message {
  _Atomic uint64_t turn; /* how often it was handed over */
  uint64_t kind;
  uint64_t amount;
  uint64_t checksum;
};

struct mailbox {
  alignas(64) const char *name;
  uint64_t created;
  uint64_t limit;
  void (*on_close)(struct mailbox *mailbox);
  void *on_close_context;
  uint64_t owner;
  struct message message; /* all of it is read and written at every turn */
  uint64_t flags;
  uint64_t largest;
  uint64_t refused;
};

#endif
