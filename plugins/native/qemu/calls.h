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

#include "coherence.h"

enum {
  CALLS_DEPTH = 64,       // of one stack; older calls are forgotten
  CALLS_PARKED = 2048,    // stacks of tasks that do not run
  CALLS_COUNT_BITS = 15,  // of a place in code
};

/** A place in code, and a number of instructions below it: bits 0 to 46 of an address, its half, the number.
 *
 * It fits the one word that QEMU hands to a callback. Addresses of both halves have 48 bits that matter. */
typedef uint64_t code_place;

static inline code_place code_place_pack(uint64_t address, uint64_t count) {
  return address << 16 | address >> 63 << CALLS_COUNT_BITS | count;
}

static inline uint64_t code_place_count(code_place place) { return place & ((1U << CALLS_COUNT_BITS) - 1); }

static inline bool code_place_is_upper(code_place place) { return place >> CALLS_COUNT_BITS & 1; }

static inline uint64_t code_place_address(code_place place) {
  return place >> 16 | (code_place_is_upper(place) ? UINT64_C(0xffff) << 48 : 0);
}

/** Where calls return to, a ring. */
struct call_stack {
  uint32_t depth;  // at most CALLS_DEPTH
  uint32_t top;    // the place after the last one pushed
  code_place returns[CALLS_DEPTH];
};

/** Of one virtual CPU. */
struct cpu_calls {
  _Alignas(64) bool upper;  // the half of the addresses that the code is of
  bool returning;           // the last instruction was a return
  uint64_t leaving;         // where the stack pointer was stored last; 0: taken up since
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

/** A return arrived at `place`. */
void calls_arrive(struct cpu_calls *cpu, code_place place);

/** Code began to run at `place`, after an instruction that may have been a return. */
static inline void calls_run(struct cpu_calls *cpu, code_place place) {
  bool upper = code_place_is_upper(place);
  if (upper != cpu->upper) {
    // A kernel is entered with an empty stack.
    cpu->upper = upper;
    cpu->returning = false;
    if (upper) cpu->halves[true].depth = 0;
  } else if (cpu->returning) {
    calls_arrive(cpu, place);
  }
}

/** A call that returns to `place`. */
static inline void calls_push(struct cpu_calls *cpu, code_place place) {
  struct call_stack *stack = &cpu->halves[code_place_is_upper(place)];
  stack->returns[stack->top++ % CALLS_DEPTH] = place;
  if (stack->depth < CALLS_DEPTH) stack->depth++;
}

/** A return to where the code itself has written instead of the last call. */
static inline void calls_drop(struct cpu_calls *cpu) {
  struct call_stack *stack = &cpu->halves[cpu->upper];
  if (!stack->depth) return;
  stack->depth--;
  stack->top--;
}

/** The stack pointer was loaded from `address`: another task's calls go on, or a new one's begin. */
void calls_switch(struct calls *calls, struct cpu_calls *cpu, uint64_t address);

#endif
