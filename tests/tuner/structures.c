// SPDX-License-Identifier: GPL-2.0-or-later
// Records whose members are counted, referenced, stored and pointed to in the ways that structural advice
// tells apart. The inlined functions have the names that Linux gives such.

static inline void atomic_inc(int *count) { __atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST); }

static inline int atomic_dec_and_test(int *count) {
  return __atomic_sub_fetch(count, 1, __ATOMIC_SEQ_CST) == 0;
}

struct session {
  long name;
  int hits;
  int users;
  int state;
  int mode;
  long limit;
};

void session_hit(struct session *session) { atomic_inc(&session->hits); }

int session_hits(const struct session *session) { return session->hits; }

void session_get(struct session *session) { atomic_inc(&session->users); }

int session_put(struct session *session) { return atomic_dec_and_test(&session->users); }

void session_wake(struct session *session) { session->state = 1; }

void session_turn(struct session *session) {
  if (session->mode != 2) session->mode = 2;
}

int session_awake(const struct session *session) { return session->state + session->mode; }

// Offsets of its own: functions of the same code would become one.
struct totals {
  long name, since;
  int sent;
  int received;
  int taken;
  int limit;
};

void totals_send(struct totals *totals) { atomic_inc(&totals->sent); }

void totals_receive(struct totals *totals) { atomic_inc(&totals->received); }

int totals_left(const struct totals *totals) { return totals->limit - totals->sent; }

int totals_try(struct totals *totals) {
  if (totals->taken >= totals->limit) return 0;
  atomic_inc(&totals->taken);
  return 1;
}

struct area_lock {
  long words[5];
};

struct shared_lock {
  long words[4];
  int refcount;
};

struct area {
  long start, end;
  struct area_lock *lock;
  struct shared_lock *shared;
  long flags, file;
};

long area_lock(struct area *area) {
  return area->lock->words[0]++ + area->shared->words[0]++ + area->shared->refcount;
}

/* The head of a list of work: changed by an atomic instruction, yet no number. */
struct inbox {
  struct inbox_head {
    struct inbox *first;
  } head;
  long size;
};

struct inbox *inbox_push(struct inbox *inbox, struct inbox *one) {
  return __atomic_exchange_n(&inbox->head.first, one, __ATOMIC_ACQ_REL);
}
