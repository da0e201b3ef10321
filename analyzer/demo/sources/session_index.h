/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An index of sessions by key: many readers without a lock, writers one at a time. */
#ifndef SESSION_INDEX_H
#define SESSION_INDEX_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

#include "guard.h"

struct session {
  uint64_t key;
  struct session *left;
  struct session *right;
};

struct session_index {
  alignas(64) struct session *root; /* every lookup starts here */
  struct session *leftmost;         /* smallest key, so that a miss is cheap */
  struct guard guard;               /* protects the times of renewal */
  size_t count;                     /* sessions in the tree */
  uint64_t created;
  uint64_t key_limit;
  void (*on_expire)(struct session *session);
  void *on_expire_context;
  const char *name;
  uint64_t expired;
  uint64_t most_at_once;
  uint64_t *renewed; /* when each session was last renewed, by its place in the order of keys */
  uint32_t flags;
  uint32_t version;
};

void session_index_build(struct session_index *index, struct session *sorted, uint64_t *renewed,
                         size_t count);
const struct session *session_index_find(const struct session_index *index, uint64_t key);
void session_index_renew(struct session_index *index, size_t place, uint64_t now, uint32_t holder);

#endif
