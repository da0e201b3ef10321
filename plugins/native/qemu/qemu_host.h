// SPDX-License-Identifier: GPL-2.0-or-later
// What differs from one QEMU to the next, found in the running one.
#ifndef LINESMITH_QEMU_HOST_H
#define LINESMITH_QEMU_HOST_H

#include "qemu_api.h"

enum { QEMU_INSTRUCTION_BYTES = 16 };

/** Entry points that are absent from, or differ in, some QEMU. */
struct qemu_host {
  void *(*get_cpu)(int index);              // NULL where QEMU does not export it
  void (*exit_cpu)(void *cpu);              // NULL where QEMU does not export it
  void (*end_memory_callbacks)(void *cpu);  // NULL where QEMU needs no help with it
  void (*instruction_data)(void);           // of one of two signatures
  bool copies_instructions;                 // API version 3 on: data goes to a buffer of ours
};

/** Probes the running QEMU, whose API version is `version`. */
struct qemu_host qemu_host_probe(int version);

/** True where the slice of a virtual CPU can be ended from outside. */
bool qemu_host_ends_slices(const struct qemu_host *host);

/** Ends the slice of `cpu` after the block that it runs; a no-op where QEMU cannot. */
void qemu_host_end_slice(const struct qemu_host *host, unsigned cpu);

/** Called when translations were thrown away. QEMU 7.2 leaves each virtual CPU a pointer to the callbacks of
 * the last instruction of a block, frees them with the block, and follows the pointer at the next access. */
void qemu_host_end_memory_callbacks(const struct qemu_host *host);

/** Copies at most QEMU_INSTRUCTION_BYTES bytes of an instruction and returns how many. */
size_t qemu_host_instruction(const struct qemu_host *host, const struct qemu_plugin_insn *instruction,
                             uint8_t bytes[QEMU_INSTRUCTION_BYTES]);

#endif
