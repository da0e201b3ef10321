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

static void push(struct call_stack *stack, code_place place) {
  stack->returns[stack->top++ % CALLS_DEPTH] = place;
  if (stack->depth < CALLS_DEPTH) stack->depth++;
}

static void pop(struct call_stack *stack, uint32_t calls) {
  stack->depth -= calls;
  stack->top -= calls;
}

static void arrive(struct call_stack *stack, code_place place) {
  for (uint32_t calls = 1; calls <= stack->depth; calls++)
    if (stack->returns[(stack->top - calls) % CALLS_DEPTH] == place) {
      pop(stack, calls);
      return;
    }
  stack->depth = 0;
}

void calls_end_block(struct cpu_calls *cpu, code_place place) {
  struct call_stack *stack = &cpu->halves[cpu->upper];
  if (cpu->ending == BLOCK_CALLS) push(stack, cpu->behind);
  if (cpu->ending == BLOCK_RETURNS) arrive(stack, place);
  // To where it has written itself instead of the last call.
  if (cpu->ending == BLOCK_JUMPS && stack->depth) pop(stack, 1);
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
