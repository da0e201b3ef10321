// SPDX-License-Identifier: GPL-2.0-or-later
// Lets the host threads of virtual CPUs run one at a time, in the order of their numbers.
#ifndef LINESMITH_TURNS_H
#define LINESMITH_TURNS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "coherence.h"

enum { TURNS_NOBODY = -1 };

/** Who runs and who waits. QEMU stops all virtual CPUs for some work and must not wait for one that waits
 * here: where who has the turn sleeps, everyone is let go after a while, and that is counted. */
struct turns {
  pthread_mutex_t lock;
  pthread_cond_t wake[COHERENCE_MAX_CPUS];
  uint64_t waiting;                 // a bit per CPU
  int holder;                       // whose turn it is; TURNS_NOBODY: nobody's
  uint64_t leaving;                 // a bit per CPU that left or was let go, not seen asleep yet
  int threads[COHERENCE_MAX_CPUS];  // of the host, of those that have come
  unsigned expected;                // CPUs that were woken and have not come yet
  bool lingering;                   // the holder waits for them
  uint64_t passed;                  // turns that ended
  uint64_t forced;                  // times that everyone was let go
};

void turns_open(struct turns *turns);

/** Says that `cpus` more are about to come: threads that were made or woken, which a busy host may leave
 * waiting for milliseconds. Without this the one that woke them would run alone for as long. */
void turns_expect(struct turns *turns, unsigned cpus);

/** Ends the turn of `cpu`, where it has it, and returns when it may run on: at once where nobody waits and
 * none is expected. */
void turns_pass(struct turns *turns, unsigned cpu);

/** Ends the turn of `cpu`, which sleeps or is gone. */
void turns_leave(struct turns *turns, unsigned cpu);

#endif
