/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session_index.h"

/* Balanced by construction: the middle session of a sorted block is the root of its tree. */
static struct session *build(struct session *sorted, size_t count) {
  size_t middle = count / 2;

  if (count == 0) return NULL;
  sorted[middle].left = build(sorted, middle);
  sorted[middle].right = build(sorted + middle + 1, count - middle - 1);
  return &sorted[middle];
}

void session_index_build(struct session_index *index, struct session *sorted, uint64_t *renewed,
                         size_t count) {
  index->renewed = renewed;
  index->count = count;
  index->root = build(sorted, count);
  index->leftmost = sorted;
}

const struct session *session_index_find(const struct session_index *index, uint64_t key) {
  const struct session *session = index->root;

  if (key < index->leftmost->key) return NULL;
  while (session && session->key != key) session = key < session->key ? session->left : session->right;
  return session;
}

void session_index_renew(struct session_index *index, size_t place, uint64_t now, uint32_t holder) {
  guard_take(&index->guard, holder);
  index->renewed[place] = now;
  guard_release(&index->guard);
}
