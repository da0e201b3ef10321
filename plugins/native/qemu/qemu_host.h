// SPDX-License-Identifier: GPL-2.0-or-later
// What differs from one QEMU to the next, found in the running one.
#ifndef LINESMITH_QEMU_HOST_H
#define LINESMITH_QEMU_HOST_H

#include "coherence.h"
#include "qemu_api.h"

enum { QEMU_INSTRUCTION_BYTES = 16 };

/** Entry points that are absent from, or differ in, some QEMU. */
struct qemu_host {
  void *(*get_cpu)(int index);              // NULL where QEMU does not export it
  void (*exit_cpu)(void *cpu);              // NULL where QEMU does not export it
  void (*end_memory_callbacks)(void *cpu);  // NULL where QEMU needs no help with it
  void (*instruction_data)(void);           // of one of two signatures
  const int *icount;  // whether instructions are the clock; NULL where QEMU shares time fairly then
  void **running;     // the CPU that runs; NULL: callbacks tell the right one
  void *last;         // the CPU that ran when it was asked for last
  unsigned last_index;
  bool copies_instructions;  // API version 3 on: data goes to a buffer of ours
};

/** Probes the running QEMU, whose API version is `version`. */
struct qemu_host qemu_host_probe(int version);

/** True where virtual CPUs that share a thread can be told apart, and their slices ended. */
bool qemu_host_controls_cpus(const struct qemu_host *host);

/** Finds out which virtual CPU runs, in a QEMU whose callbacks may name another one. Called on the one thread
 * that runs them all.
 *
 * QEMU 10.0 writes the CPU that translates a block into it as a constant unless each has a thread of its own,
 * and lets all of them run that block. */
void qemu_host_watch_cpus(struct qemu_host *host);

/** The CPU that runs, looked up. */
unsigned qemu_host_find_cpu(struct qemu_host *host);

/** The CPU that runs; `told` by a callback. */
static inline unsigned qemu_host_cpu(struct qemu_host *host, unsigned told) {
  if (!host->running) return told;
  return *host->running == host->last ? host->last_index : qemu_host_find_cpu(host);
}

/** True where a virtual CPU that waits for another is given all the time there is. QEMU up to 8.0 does so
 * with -icount. */
bool qemu_host_lets_cpus_hog(const struct qemu_host *host);

/** Ends the slice of `cpu` after the block that it runs; a no-op where QEMU cannot. */
void qemu_host_end_slice(const struct qemu_host *host, unsigned cpu);

/** Called when translations were thrown away. QEMU 7.2 leaves each virtual CPU a pointer to the callbacks of
 * the last instruction of a block, frees them with the block, and follows the pointer at the next access. */
void qemu_host_end_memory_callbacks(const struct qemu_host *host);

/** Copies at most QEMU_INSTRUCTION_BYTES bytes of an instruction and returns how many. */
size_t qemu_host_instruction(const struct qemu_host *host, const struct qemu_plugin_insn *instruction,
                             uint8_t bytes[QEMU_INSTRUCTION_BYTES]);

#endif
