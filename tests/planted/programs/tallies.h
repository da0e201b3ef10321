/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each worker has done, one element of an array for each: the end of one lies on the line that the next
 * begins. */
#ifndef TALLIES_H
#define TALLIES_H

#include <stdatomic.h>
#include <stdint.h>

struct tally {
  _Atomic uint64_t done; /* read by everybody now and then */
  uint64_t began;
  uint64_t ended;
  uint64_t first_key;
  uint64_t last_key;
  uint64_t retries;
  uint64_t failures;
  const char *name;
  uint64_t limit;
  uint64_t flags;
  uint64_t cpu;
  _Atomic uint64_t bytes;
};

#endif
