// SPDX-License-Identifier: GPL-2.0-or-later
// The entry points of QEMU's TCG plugin API that the simulator takes, declared here so that one object fits
// every QEMU from 7.2 (API version 1) on. Source: QEMU documentation, "QEMU TCG Plugins", API reference.
#ifndef LINESMITH_QEMU_API_H
#define LINESMITH_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_EXPORT __attribute__((visibility("default")))

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;

enum { QEMU_NO_REGISTERS = 0 };
enum { QEMU_READS_AND_WRITES = 3 };

/** What QEMU tells at installation; valid during that call only. */
typedef struct {
  const char *target_name;
  struct {
    int min;
    int cur;
  } version;
  bool system_emulation;
  struct {
    int smp_vcpus;
    int max_vcpus;
  } system;  // only where system_emulation
} qemu_info_t;

typedef void qemu_simple_cb(qemu_plugin_id_t id);
typedef void qemu_exit_cb(qemu_plugin_id_t id, void *data);
typedef void qemu_vcpu_cb(qemu_plugin_id_t id, unsigned cpu);
typedef void qemu_translation_cb(qemu_plugin_id_t id, struct qemu_plugin_tb *block);
typedef void qemu_execution_cb(unsigned cpu, void *data);
typedef void qemu_memory_cb(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data);
typedef void qemu_syscall_cb(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t a1, uint64_t a2,
                             uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8);
typedef void qemu_syscall_return_cb(qemu_plugin_id_t id, unsigned cpu, int64_t number, int64_t result);

void qemu_plugin_reset(qemu_plugin_id_t id, qemu_simple_cb *done);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_exit_cb *callback, void *data);
void qemu_plugin_register_flush_cb(qemu_plugin_id_t id, qemu_simple_cb *callback);
void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, qemu_vcpu_cb *callback);
void qemu_plugin_register_vcpu_exit_cb(qemu_plugin_id_t id, qemu_vcpu_cb *callback);
void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id, qemu_vcpu_cb *callback);
void qemu_plugin_register_vcpu_resume_cb(qemu_plugin_id_t id, qemu_vcpu_cb *callback);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id, qemu_syscall_cb *callback);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t id, qemu_syscall_return_cb *callback);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_translation_cb *callback);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, qemu_execution_cb *callback,
                                          int registers, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction, qemu_execution_cb *callback,
                                            int registers, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *instruction, qemu_memory_cb *callback,
                                      int registers, int accesses, void *data);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);

unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *address);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *address);

/** The API version that QEMU reads after loading the object. */
extern QEMU_EXPORT int qemu_plugin_version;

/** Called by QEMU once; 0 accepts, anything else makes QEMU refuse to start. */
QEMU_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

#endif
