// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers the ways by which code was reached: its innermost callers, as a shadow call stack has them.
#ifndef LINESMITH_CALL_PATHS_H
#define LINESMITH_CALL_PATHS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "calls.h"
#include "recording.h"

struct call_paths {
  pthread_mutex_t lock;
  struct recording_path *paths;  // by number
  uint32_t *slots;               // number + 1 by hash; 0: free
  uint32_t count;                // number 0 is the way that is not known
  uint64_t dropped;              // ways that found the table full
};

/** Makes a table; false where there is no memory. */
bool call_paths_open(struct call_paths *paths);
void call_paths_close(struct call_paths *paths);

/** The number of the innermost callers on a stack; 0 where there are none, or no room for them. */
uint32_t call_paths_number(struct call_paths *paths, const struct call_stack *stack);

#endif
