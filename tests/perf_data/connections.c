// SPDX-License-Identifier: GPL-2.0-or-later
// A server's bookkeeping: counters of threads side by side in a global, connections on the heap.
#include <stdatomic.h>
#include <stdlib.h>

struct counters {
  long requests;
  long errors;
  int state;
};

struct connection {
  struct connection *next;
  unsigned flags;
  int descriptor;
  long received;
  long sent;
  atomic_int references;
  char name[20];
};

struct counters per_thread[16];
struct connection *connections;

__attribute__((noipa)) void count_request(struct counters *own, int failed) {
  own->requests++;
  if (failed) own->errors++;
}

__attribute__((noipa)) int look_at_state(const struct counters *other) { return other->state; }

__attribute__((noipa)) struct connection *find_connection(int descriptor) {
  struct connection *one = connections;
  while (one && one->descriptor != descriptor) one = one->next;
  return one;
}

__attribute__((noipa)) void hold(struct connection *one) { atomic_fetch_add(&one->references, 1); }

__attribute__((noipa)) void account(struct connection *one, long bytes) { one->received += bytes; }

int main(void) {
  connections = calloc(1, sizeof *connections);
  hold(connections);
  count_request(&per_thread[0], 0);
  account(find_connection(0), look_at_state(&per_thread[1]));
  return 0;
}
