// SPDX-License-Identifier: GPL-2.0-or-later
// A shadow call stack for each virtual CPU: who called the code that runs, by the calls and returns it
// executed.
//
// The guest's own stack is not read. A return that goes elsewhere than to the last call is looked for among
// the calls before it, and where it is not among them the stack is forgotten: callers are then unknown, not
// wrong.
#ifndef LINESMITH_CALLS_H
#define LINESMITH_CALLS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "block_shapes.h"
#include "coherence.h"

enum {
  CALLS_DEPTH = 64,     // of one stack; older calls are forgotten
  CALLS_PARKED = 2048,  // stacks of tasks that do not run
};

/** Where calls return to, a ring. */
struct call_stack {
  uint32_t depth;  // at most CALLS_DEPTH
  uint32_t top;    // the place after the last one pushed
  code_place returns[CALLS_DEPTH];
};

/** Of one virtual CPU. */
struct cpu_calls {
  _Alignas(64) code_place behind;  // the block that ran last
  uint8_t ending;                  // of that block, an enum block_ending
  bool upper;                      // the half of the addresses that it is in
  uint64_t leaving;                // where the stack pointer was stored last; 0: taken up since
  struct call_stack halves[2];
};

/** The stack of a task while another runs, under the address where its stack pointer is stored. */
struct parked_stack {
  uint64_t key;
  struct call_stack stack;
};

struct calls {
  struct cpu_calls cpus[COHERENCE_MAX_CPUS];
  pthread_mutex_t lock;         // of what is parked
  struct parked_stack *parked;  // by hash; a stack is lost where another one has its place
};

/** Makes empty stacks; false where there is no memory. */
bool calls_open(struct calls *calls);
void calls_close(struct calls *calls);

/** Forgets the calls of every virtual CPU. */
void calls_forget(struct calls *calls);

/** The last block has ended, and code runs at `place`. */
void calls_end_block(struct cpu_calls *cpu, code_place place);

/** A block of this shape begins to run at `place`. */
static inline void calls_run(struct cpu_calls *cpu, code_place place, const struct block_shape *shape) {
  bool upper = place & 1;
  if (upper != cpu->upper) {
    // A kernel is entered with an empty stack.
    cpu->upper = upper;
    if (upper) cpu->halves[true].depth = 0;
  } else if (cpu->ending) {
    calls_end_block(cpu, place);
  }
  cpu->ending = shape->ending;
  cpu->behind = code_place_after(place, shape->bytes);
}

/** The stack pointer was loaded from `address`: another task's calls go on, or a new one's begin. */
void calls_switch(struct calls *calls, struct cpu_calls *cpu, uint64_t address);

#endif
