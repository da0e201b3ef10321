// SPDX-License-Identifier: GPL-2.0-or-later
// The object that QEMU loads: turns what QEMU calls back for into accesses, slices and regions.
//
// Outside the region of interest only the instructions that may open one call back. At its borders QEMU is
// asked to throw its translations away, and to translate anew under the callbacks registered then.
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

// The API hands nothing to most callbacks that leads back to a simulation.
static struct run *run;

static void say(const char *sentence) { fprintf(stderr, "linesmith: %s\n", sentence); }

static bool in_upper_half(uint64_t address) { return address >> 63; }

// ---- memory ----

/** Notes one access by the site of this word. */
static inline void count_access(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *word) {
  cpu = qemu_host_cpu(&run->host, cpu);
  if (cpu >= run->options.coherence.cpus) {
    run->foreign++;
    return;
  }
  uint64_t site = (uintptr_t)word;
  uint32_t kind = memory_kinds_of(&run->memory_kinds, info);
  bool store = kind & MEMORY_KIND_STORES, atomic = site_word_atomic(site);
  // The load of an atomic instruction is part of the store that follows it.
  if (atomic && !store) return;
  journal_add(&run->journal, cpu,
              (struct journal_entry){.address = address,
                                     .site = site_word_number(site),
                                     .width = kind & MEMORY_KIND_WIDTH,
                                     .deed = atomic  ? DEED_ATOMIC
                                             : store ? DEED_STORE
                                                     : DEED_LOAD,
                                     .repeated = site_word_repeated(site)});
}

static void on_program_access(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *site) {
  count_access(cpu, info, address, site);
}

static void on_kernel_access(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *site) {
  if (in_upper_half(address) && !device_pages_has(&run->device_pages, info, address))
    count_access(cpu, info, address, site);
}

/** Processes share memory under different virtual addresses: theirs goes by the physical one. */
static void on_user_access(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *site) {
  const struct qemu_plugin_hwaddr *place = qemu_plugin_get_hwaddr(info, address);
  if (place && !qemu_plugin_hwaddr_is_io(place))
    count_access(cpu, info, qemu_plugin_hwaddr_phys_addr(place), site);
}

static void on_machine_access(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *site) {
  if (in_upper_half(address))
    on_kernel_access(cpu, info, address, site);
  else
    on_user_access(cpu, info, address, site);
}

// ---- calls ----

static void note(unsigned cpu, enum deed deed, uint64_t address) {
  cpu = qemu_host_cpu(&run->host, cpu);
  if (cpu < COHERENCE_MAX_CPUS)
    journal_add(&run->journal, cpu, (struct journal_entry){.address = address, .deed = deed});
}

static void on_leave(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data) {
  (void)info, (void)data;
  note(cpu, DEED_LEAVE, address);
}

static void on_switch(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data) {
  (void)info, (void)data;
  note(cpu, DEED_SWITCH, address);
}

static qemu_memory_cb *access_callback(void) {
  if (!run->guest.system) return on_program_access;
  return run->options.ring == RING_KERNEL ? on_kernel_access : on_machine_access;
}

static bool is_followed(uint64_t instruction) {
  enum ring ring = run->options.ring;
  return !run->guest.system || ring == RING_BOTH || in_upper_half(instruction) == (ring == RING_KERNEL);
}

// ---- interleaving ----

/** Ends QEMU where its threads are not those that the interleaving was chosen for: the result would be wrong.
 */
static void check_threads(unsigned cpu, bool one_for_all) {
  uintptr_t thread = (uintptr_t)pthread_self(), none = 0;
  if (atomic_compare_exchange_strong(&run->thread, &none, thread)) run->thread_cpu = cpu;
  bool shared = run->thread == thread && (one_for_all || run->thread_cpu != cpu);
  if (shared == one_for_all) return;
  say(one_for_all
          ? "interleave=exact needs all virtual CPUs on one thread: give QEMU -accel tcg,thread=single"
          : "only interleave=exact has all virtual CPUs on one thread: give QEMU -accel tcg,thread=multi");
  // Nothing that ends with the process may write a recording of such a run.
  _exit(EXIT_FAILURE);
}

/** What the virtual CPU has done comes before what the next one does. */
static void pass_turn(unsigned cpu) {
  journal_push(&run->journal, cpu);
  turns_pass(&run->turns, cpu);
}

static void end_slice(unsigned cpu) {
  enum interleave interleave = run->options.interleave;
  if (run->guest.system) check_threads(cpu, interleave == INTERLEAVE_EXACT);
  if (interleave == INTERLEAVE_EXACT) qemu_host_end_slice(&run->host, cpu);
  if (interleave == INTERLEAVE_TURNS) pass_turn(cpu);
}

static void on_block(unsigned cpu, void *block) {
  cpu = qemu_host_cpu(&run->host, cpu);
  if (cpu >= COHERENCE_MAX_CPUS) return;
  uint64_t word = (uintptr_t)block;
  const struct block_shape *shape = block_shapes_of(&run->shapes, word);
  journal_add_block(&run->journal, cpu, word, shape->ending);
  if (slices_count(&run->slices, cpu, shape->instructions)) end_slice(cpu);
}

static void on_block_outside(unsigned cpu, void *instructions) {
  if (cpu >= COHERENCE_MAX_CPUS) return;
  if (slices_count(&run->slices_outside, cpu, (uintptr_t)instructions)) qemu_host_end_slice(&run->host, cpu);
}

static void on_sleep(qemu_plugin_id_t id, unsigned cpu) {
  (void)id;
  if (cpu >= COHERENCE_MAX_CPUS) return;
  journal_push(&run->journal, cpu);
  turns_leave(&run->turns, cpu);
}

static void on_wake(qemu_plugin_id_t id, unsigned cpu) {
  (void)id;
  if (cpu < COHERENCE_MAX_CPUS) pass_turn(cpu);
}

static void on_syscall(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t a1, uint64_t a2,
                       uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8) {
  (void)number, (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
  on_sleep(id, cpu);
}

/** Number of the system call. Source: syscalls(2), the tables of the two architectures. */
static int64_t futex_number(void) { return run->guest.set == INSTRUCTION_X86_64 ? 202 : 98; }

static void on_syscall_return(qemu_plugin_id_t id, unsigned cpu, int64_t number, int64_t result) {
  // Of all futex operations only those that wake others return more than 0: how many. The caller comes as
  // well.
  if (number == futex_number() && result > 0) turns_expect(&run->turns, (unsigned)result + 1);
  on_wake(id, cpu);
}

static void on_birth(qemu_plugin_id_t id, unsigned cpu) {
  (void)id, (void)cpu;
  turns_expect(&run->turns, 1);
}

/** A thread that waits in the kernel, or a virtual CPU that is halted, must not keep its turn. */
static void register_sleep(qemu_plugin_id_t id) {
  if (run->options.interleave != INTERLEAVE_TURNS) return;
  qemu_plugin_register_vcpu_exit_cb(id, on_sleep);
  if (run->guest.system) {
    qemu_plugin_register_vcpu_idle_cb(id, on_sleep);
    qemu_plugin_register_vcpu_resume_cb(id, on_wake);
  } else {
    qemu_plugin_register_vcpu_init_cb(id, on_birth);
    qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
    qemu_plugin_register_vcpu_syscall_ret_cb(id, on_syscall_return);
  }
}

// ---- region of interest ----

static void register_callbacks(qemu_plugin_id_t id);

static void write_recording(void) {
  if (run->forked) return;
  int error = run_write(run);
  if (error)
    fprintf(stderr, "linesmith: the recording %s cannot be written: %s\n", run->options.out, strerror(error));
}

/** Runs while every virtual CPU is stopped. */
static void on_border(qemu_plugin_id_t id) {
  if (run->region == REGION_CLOSING) {
    run->region = REGION_OUTSIDE;
    run->regions++;
    run->turns.holder = TURNS_NOBODY;
    write_recording();
  } else {
    run->region = REGION_INSIDE;
    calls_forget(&run->calls);
  }
  register_callbacks(id);
}

static void cross(enum region_state from, enum region_state over) {
  int expected = from;
  if (atomic_compare_exchange_strong(&run->region, &expected, over)) qemu_plugin_reset(run->id, on_border);
}

static void on_start(unsigned cpu, void *data) {
  (void)cpu, (void)data;
  cross(REGION_OUTSIDE, REGION_OPENING);
}

static void on_stop(unsigned cpu, void *data) {
  (void)cpu, (void)data;
  cross(REGION_INSIDE, REGION_CLOSING);
}

// ---- translation ----

static enum instruction_marker marker_by_address(uint64_t address) {
  const struct options *options = &run->options;
  if (address == options->start) return MARKER_START;
  return address == options->stop ? MARKER_STOP : MARKER_NONE;
}

static enum instruction_marker marker_by_bytes(const struct qemu_plugin_insn *instruction) {
  enum instruction_set set = run->guest.set;
  if (qemu_plugin_insn_size(instruction) != instruction_marker_bytes(set)) return MARKER_NONE;
  uint8_t bytes[QEMU_INSTRUCTION_BYTES];
  return instruction_marker(set, bytes, qemu_host_instruction(&run->host, instruction, bytes));
}

static void watch_memory(struct qemu_plugin_insn *instruction, qemu_memory_cb *callback, void *data) {
  qemu_plugin_register_vcpu_mem_cb(instruction, callback, QEMU_NO_REGISTERS, QEMU_READS_AND_WRITES, data);
}

static void watch_execution(struct qemu_plugin_insn *instruction, qemu_execution_cb *callback, void *data) {
  qemu_plugin_register_vcpu_insn_exec_cb(instruction, callback, QEMU_NO_REGISTERS, data);
}

/** Watches an instruction that crosses the border from this side. */
static void watch_border(struct qemu_plugin_insn *instruction, enum instruction_marker crossing) {
  enum instruction_marker marker = MARKER_NONE;
  if (run->options.region == REGION_MARKER) marker = marker_by_bytes(instruction);
  if (run->options.region == REGION_SYMBOL) marker = marker_by_address(qemu_plugin_insn_vaddr(instruction));
  if (marker == MARKER_NONE || marker != crossing) return;
  watch_execution(instruction, marker == MARKER_START ? on_start : on_stop, NULL);
}

static void watch_stack_pointer(struct qemu_plugin_insn *instruction, enum instruction_flow flow) {
  if (flow == FLOW_LEAVE) watch_memory(instruction, on_leave, NULL);
  if (flow == FLOW_SWITCH) watch_memory(instruction, on_switch, NULL);
}

static void watch_accesses(struct qemu_plugin_insn *instruction, struct instruction_habit habit) {
  uint64_t address = qemu_plugin_insn_vaddr(instruction);
  struct site *site = sites_find_or_add(&run->sites, address, habit);
  if (!site) return;
  watch_memory(instruction, access_callback(), (void *)(uintptr_t)site_word(site));
}

static void on_translation_outside(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
  (void)id;
  size_t count = qemu_plugin_tb_n_insns(block);
  if (run->options.interleave == INTERLEAVE_EXACT && qemu_host_lets_cpus_hog(&run->host))
    qemu_plugin_register_vcpu_tb_exec_cb(block, on_block_outside, QEMU_NO_REGISTERS,
                                         (void *)(uintptr_t)count);
  for (size_t i = 0; i < count; i++) watch_border(qemu_plugin_tb_get_insn(block, i), MARKER_START);
}

/** Has the block counted, and its calls followed, whenever it runs; `flow` is that of its last two
 * instructions.
 */
static void watch_block(struct qemu_plugin_tb *block, const enum instruction_flow flow[2]) {
  size_t count = qemu_plugin_tb_n_insns(block);
  uint64_t begin = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(block, 0));
  const struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(block, count - 1);
  struct block_shape shape = {
      .bytes = (uint16_t)(qemu_plugin_insn_vaddr(last) + qemu_plugin_insn_size(last) - begin),
      .instructions = (uint16_t)count,
  };
  if (flow[1] == FLOW_CALL) shape.ending = BLOCK_CALLS;
  if (flow[1] == FLOW_RETURN) shape.ending = flow[0] == FLOW_AIM ? BLOCK_JUMPS : BLOCK_RETURNS;
  if (!is_followed(begin)) shape.ending = BLOCK_GOES_ON;
  uint64_t word = code_block(begin, block_shapes_number(&run->shapes, shape));
  _Static_assert(sizeof(void *) == sizeof word, "a block is handed to callbacks as a pointer");
  qemu_plugin_register_vcpu_tb_exec_cb(block, on_block, QEMU_NO_REGISTERS, (void *)(uintptr_t)word);
}

static void on_translation_inside(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
  (void)id;
  if (run->options.interleave == INTERLEAVE_EXACT) qemu_host_watch_cpus(&run->host);
  size_t count = qemu_plugin_tb_n_insns(block);
  enum instruction_flow flow[2] = {FLOW_ON, FLOW_ON};
  bool again = false;
  for (size_t i = 0; i < count; i++) {
    struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
    uint8_t bytes[QEMU_INSTRUCTION_BYTES];
    size_t size = qemu_host_instruction(&run->host, instruction, bytes);
    struct instruction_habit habit = instruction_habit(run->guest.set, bytes, size);
    if (i == 0) again = habit.repeated;
    flow[0] = flow[1];
    flow[1] = instruction_flow(run->guest.set, bytes, size);
    watch_border(instruction, MARKER_STOP);
    if (!is_followed(qemu_plugin_insn_vaddr(instruction))) continue;
    watch_accesses(instruction, habit);
    watch_stack_pointer(instruction, flow[1]);
  }
  // QEMU runs a block for each repetition; the instruction was counted with the block that led to it.
  if (!again) watch_block(block, flow);
}

// ---- life of the object ----

static void on_exit_of_qemu(qemu_plugin_id_t id, void *data) {
  (void)id, (void)data;
  if (run->forked) return;
  if (run->region != REGION_OUTSIDE) write_recording();
  if (run->region == REGION_OUTSIDE && !run->regions)
    say("the guest never entered a region of interest: no recording was written");
  journal_close(&run->journal);
  int error = tracing_close(&run->tracing, &run->sites);
  if (error)
    fprintf(stderr, "linesmith: the trace %s cannot be written: %s\n", run->options.trace, strerror(error));
}

static void on_flush(qemu_plugin_id_t id) {
  (void)id;
  qemu_host_end_memory_callbacks(&run->host);
}

/** A reset of the plugin takes all of its callbacks away: each side of the border registers all of its own.
 */
static void register_callbacks(qemu_plugin_id_t id) {
  bool inside = run->region == REGION_INSIDE;
  qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
  qemu_plugin_register_flush_cb(id, on_flush);
  qemu_plugin_register_vcpu_tb_trans_cb(id, inside ? on_translation_inside : on_translation_outside);
  if (inside) register_sleep(id);
}

static void on_fork(void) { run_disown(run); }

static bool know_guest(struct guest *guest, const qemu_info_t *info, char *problem, size_t bytes) {
  bool arm = !strcmp(info->target_name, "aarch64");
  *guest = (struct guest){.set = arm ? INSTRUCTION_AARCH64 : INSTRUCTION_X86_64,
                          .system = info->system_emulation,
                          .cpus = COHERENCE_MAX_CPUS};
  if (!arm && strcmp(info->target_name, "x86_64")) {
    snprintf(problem, bytes, "guests of x86_64 and aarch64 can be followed, not of %s", info->target_name);
    return false;
  }
  if (guest->system) guest->cpus = (uint32_t)info->system.smp_vcpus;
  if (guest->cpus <= COHERENCE_MAX_CPUS) return true;
  snprintf(problem, bytes, "at most %d virtual CPUs can be followed, not %" PRIu32, COHERENCE_MAX_CPUS,
           guest->cpus);
  return false;
}

static bool install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv, char *problem,
                    size_t bytes) {
  struct guest guest;
  struct options options;
  struct qemu_host host = qemu_host_probe(info->version.cur);
  if (!know_guest(&guest, info, problem, bytes)) return false;
  if (!options_parse(&options, &guest, argc, argv, problem, bytes)) return false;
  if (options.interleave == INTERLEAVE_EXACT && !qemu_host_controls_cpus(&host)) {
    snprintf(problem, bytes, "this QEMU leaves no control of its CPUs to a plugin: say interleave=turns");
    return false;
  }
  run = run_create(&options, &guest, problem, bytes);
  if (!run) return false;
  run->id = id;
  run->host = host;
  return true;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv) {
  char problem[256];
  if (!install(id, info, argc, argv, problem, sizeof problem)) {
    say(problem);
    return EXIT_FAILURE;
  }
  if (run->options.region == REGION_ALL) run->region = REGION_INSIDE;
  pthread_atfork(NULL, NULL, on_fork);
  register_callbacks(id);
  return EXIT_SUCCESS;
}
