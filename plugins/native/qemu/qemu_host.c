// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "qemu_host.h"

#include <dlfcn.h>
#include <string.h>

enum { VERSION_THAT_IS_FAIR = 2, VERSION_THAT_COPIES = 3, CPUS_MAX = 1024 };

typedef const void *data_in_place(const struct qemu_plugin_insn *instruction);
typedef size_t data_copied(const struct qemu_plugin_insn *instruction, void *bytes, size_t size);

QEMU_EXPORT int qemu_plugin_version = 1;

/** QEMU 9.0 on refuses version 1, and QEMU 7.2 and 8.x refuse what is newer than they are: the version is
 * settled while the object is loaded, by a function that only version 2 on has. */
__attribute__((constructor)) static void settle_version(void) {
  if (dlsym(RTLD_DEFAULT, "qemu_plugin_num_vcpus")) qemu_plugin_version = 2;
}

struct qemu_host qemu_host_probe(int version) {
  struct qemu_host host = {.copies_instructions = version >= VERSION_THAT_COPIES};
  // ISO C has no cast from an object's address to a function's; POSIX asks for this copy.
  *(void **)&host.get_cpu = dlsym(RTLD_DEFAULT, "qemu_get_cpu");
  *(void **)&host.exit_cpu = dlsym(RTLD_DEFAULT, "cpu_exit");
  *(void **)&host.end_memory_callbacks = dlsym(RTLD_DEFAULT, "qemu_plugin_disable_mem_helpers");
  if (version < VERSION_THAT_IS_FAIR) host.icount = dlsym(RTLD_DEFAULT, "use_icount");
  *(void **)&host.instruction_data = dlsym(RTLD_DEFAULT, "qemu_plugin_insn_data");
  return host;
}

/** The address of a variable of the calling thread; NULL where QEMU does not export it. */
static void **running_cpu(void) { return dlsym(RTLD_DEFAULT, "current_cpu"); }

void qemu_host_watch_cpus(struct qemu_host *host) {
  if (host->copies_instructions && !host->running) host->running = running_cpu();
}

bool qemu_host_controls_cpus(const struct qemu_host *host) {
  return host->get_cpu && host->exit_cpu && (!host->copies_instructions || running_cpu());
}

unsigned qemu_host_find_cpu(struct qemu_host *host) {
  host->last = *host->running;
  for (host->last_index = 0; host->last_index < COHERENCE_MAX_CPUS; host->last_index++)
    if (host->get_cpu((int)host->last_index) == host->last) break;
  return host->last_index;
}

bool qemu_host_lets_cpus_hog(const struct qemu_host *host) { return host->icount && *host->icount; }

void qemu_host_end_slice(const struct qemu_host *host, unsigned cpu) {
  void *state = host->get_cpu((int)cpu);
  if (state) host->exit_cpu(state);
}

void qemu_host_end_memory_callbacks(const struct qemu_host *host) {
  if (!host->end_memory_callbacks || !host->get_cpu) return;
  for (int i = 0; i < CPUS_MAX; i++) {
    void *state = host->get_cpu(i);
    if (state) host->end_memory_callbacks(state);
  }
}

size_t qemu_host_instruction(const struct qemu_host *host, const struct qemu_plugin_insn *instruction,
                             uint8_t bytes[QEMU_INSTRUCTION_BYTES]) {
  if (host->copies_instructions)
    return ((data_copied *)host->instruction_data)(instruction, bytes, QEMU_INSTRUCTION_BYTES);
  size_t size = qemu_plugin_insn_size(instruction);
  if (size > QEMU_INSTRUCTION_BYTES) size = QEMU_INSTRUCTION_BYTES;
  memcpy(bytes, ((data_in_place *)host->instruction_data)(instruction), size);
  return size;
}
