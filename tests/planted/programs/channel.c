/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "channel.h"

#include <stdbool.h>

#include "team.h"

#define SLOTS 4096
#define OPERATIONS 4096

static struct channel channel;
static alignas(256) uint64_t slots[SLOTS];

__attribute__((noinline)) static bool try_send(struct channel *shared, uint64_t message) {
  uint64_t sent = atomic_load_explicit(&shared->sent, memory_order_relaxed);

  if (sent == shared->sent_limit) {
    shared->sent_limit = atomic_load_explicit(&shared->received, memory_order_acquire) + shared->mask + 1;
    if (sent == shared->sent_limit) return false;
  }
  shared->slots[sent & shared->mask] = message;
  atomic_store_explicit(&shared->sent, sent + 1, memory_order_release);
  return true;
}

__attribute__((noinline)) static bool try_receive(struct channel *shared, uint64_t *message) {
  uint64_t received = atomic_load_explicit(&shared->received, memory_order_relaxed);

  if (received == shared->received_limit) {
    shared->received_limit = atomic_load_explicit(&shared->sent, memory_order_acquire);
    if (received == shared->received_limit) return false;
  }
  *message = shared->slots[received & shared->mask];
  atomic_store_explicit(&shared->received, received + 1, memory_order_release);
  return true;
}

/* The first worker sends and the second receives; one alone does both in turns. */
static uint64_t work(int self, int workers) {
  uint64_t message = 0;

  for (uint64_t i = 0; i < OPERATIONS; i++) {
    if (self == 0)
      for (int looks = 0; !try_send(&channel, i); looks++) look_again(looks);
    if (self == 1 || workers == 1)
      for (int looks = 0; !try_receive(&channel, &message); looks++) look_again(looks);
  }
  return message;
}

int main(int argc, char **argv) {
  channel.slots = slots;
  channel.mask = SLOTS - 1;
  channel.sent_limit = SLOTS;
  return team_main(argc, argv, work, OPERATIONS);
}
