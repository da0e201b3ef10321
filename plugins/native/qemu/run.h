// SPDX-License-Identifier: GPL-2.0-or-later
// Everything that one run of a guest is followed with.
#ifndef LINESMITH_RUN_H
#define LINESMITH_RUN_H

#include <stdatomic.h>

#include "call_paths.h"
#include "calls.h"
#include "coherence.h"
#include "device_pages.h"
#include "journal.h"
#include "memory_kinds.h"
#include "options.h"
#include "qemu_host.h"
#include "repeats.h"
#include "sites.h"
#include "slices.h"
#include "tracing.h"
#include "turns.h"

/** Where the guest is; the two in the middle last until QEMU has thrown its translations away. */
enum region_state { REGION_OUTSIDE, REGION_OPENING, REGION_INSIDE, REGION_CLOSING };

struct run {
  qemu_plugin_id_t id;
  struct qemu_host host;
  struct guest guest;
  struct options options;
  struct coherence *coherence;
  struct sites sites;
  struct block_shapes shapes;
  struct calls calls;
  struct call_paths paths;
  struct device_pages device_pages;
  struct memory_kinds memory_kinds;
  struct journal journal;
  struct slices slices;                        // in the region
  struct slices slices_outside;                // before and after, where CPUs would hog the time otherwise
  struct repeats repeats[COHERENCE_MAX_CPUS];  // of the simulation
  struct repeats traced_repeats[COHERENCE_MAX_CPUS];  // of the trace
  struct turns turns;
  struct tracing tracing;
  _Atomic int region;        // enum region_state
  _Atomic bool forked;       // this process is a copy, and the recording is not its own
  _Atomic uintptr_t thread;  // host thread of the virtual CPU below; 0: none seen yet
  _Atomic unsigned thread_cpu;
  _Atomic uint64_t foreign;  // accesses of CPUs beyond those that can be followed
  uint64_t regions;          // that the guest has left
};

/** Makes a simulation at rest, outside its region; NULL, and a sentence in `problem`, where it cannot be. */
struct run *run_create(const struct options *options, const struct guest *guest, char *problem,
                       size_t problem_bytes);
void run_destroy(struct run *run);

/** Called in the child of a fork, whose other threads are gone: nothing is waited for or written from here
 * on. */
void run_disown(struct run *run);

/** Writes the recording so far under its name; returns 0 or an errno. */
int run_write(struct run *run);

#endif
