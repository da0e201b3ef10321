// SPDX-License-Identifier: GPL-2.0-or-later
#include "calls.h"

#include <stdlib.h>
#include <string.h>

bool calls_open(struct calls *calls) {
  memset(calls->cpus, 0, sizeof calls->cpus);
  pthread_mutex_init(&calls->lock, NULL);
  calls->parked = calloc(CALLS_PARKED, sizeof *calls->parked);
  return calls->parked;
}

void calls_close(struct calls *calls) { free(calls->parked); }

void calls_forget(struct calls *calls) {
  memset(calls->cpus, 0, sizeof calls->cpus);
  memset(calls->parked, 0, CALLS_PARKED * sizeof *calls->parked);
}

void calls_arrive(struct cpu_calls *cpu, code_place place) {
  struct call_stack *stack = &cpu->halves[cpu->upper];
  code_place back = place >> CALLS_COUNT_BITS << CALLS_COUNT_BITS;
  cpu->returning = false;
  for (uint32_t popped = 1; popped <= stack->depth; popped++) {
    if (stack->returns[(stack->top - popped) % CALLS_DEPTH] != back) continue;
    stack->depth -= popped;
    stack->top -= popped;
    return;
  }
  stack->depth = 0;
}

/** Fibonacci hashing: keys are apart by the size of a task. */
static struct parked_stack *parked_at(const struct calls *calls, uint64_t key) {
  return &calls->parked[key * 0x9e3779b97f4a7c15ULL >> 32 & (CALLS_PARKED - 1)];
}

void calls_switch(struct calls *calls, struct cpu_calls *cpu, uint64_t address) {
  struct call_stack *stack = &cpu->halves[cpu->upper];
  if (!cpu->leaving) return;
  pthread_mutex_lock(&calls->lock);
  *parked_at(calls, cpu->leaving) = (struct parked_stack){.key = cpu->leaving, .stack = *stack};
  const struct parked_stack *parked = parked_at(calls, address);
  if (parked->key == address)
    *stack = parked->stack;
  else
    stack->depth = 0;
  pthread_mutex_unlock(&calls->lock);
  cpu->leaving = 0;
}
