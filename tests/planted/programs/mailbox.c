/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mailbox.h"

#include <stdbool.h>

#include "team.h"

#define HANDOVERS 200

static struct mailbox mailbox;

/* Even turns are the first worker's. */
static bool is_turn_of(const struct mailbox *shared, int self) {
  return atomic_load_explicit(&shared->message.turn, memory_order_acquire) % 2 == (uint64_t)self;
}

__attribute__((noinline)) static uint64_t answer(struct mailbox *shared) {
  struct message *message = &shared->message;
  uint64_t sound = message->checksum == message->kind + message->amount;

  message->kind++;
  message->amount += sound;
  message->checksum = message->kind + message->amount;
  atomic_store_explicit(&message->turn, message->turn + 1, memory_order_release);
  return sound;
}

/* The first two workers answer each other; one alone answers itself. */
static uint64_t work(int self, int workers) {
  uint64_t sound = 0;

  for (int i = 0; i < HANDOVERS && self < 2; i++) {
    for (int looks = 0; workers > 1 && !is_turn_of(&mailbox, self); looks++) look_again(looks);
    sound += answer(&mailbox);
  }
  return sound;
}

int main(int argc, char **argv) { return team_main(argc, argv, work, HANDOVERS); }
