// SPDX-License-Identifier: GPL-2.0-or-later
// What the user asked of the plugin, as key=value arguments behind its file name.
#ifndef LINESMITH_OPTIONS_H
#define LINESMITH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coherence.h"
#include "instruction.h"

/** Whose instructions are followed. */
enum ring { RING_KERNEL, RING_USER, RING_BOTH };

/** How virtual CPUs are made to alternate. */
enum interleave {
  INTERLEAVE_EXACT,  // one host thread; QEMU is told to run the next CPU
  INTERLEAVE_TURNS,  // a host thread each; one runs, the others wait for their turn
  INTERLEAVE_HOST    // as the host schedules them
};

/** Where the region of interest begins and ends. */
enum region { REGION_MARKER, REGION_SYMBOL, REGION_ALL };

struct options {
  const char *out;       // recording; never NULL once parsed
  const char *trace;     // NULL: no trace
  uint64_t trace_bytes;  // largest size of the trace
  uint64_t quantum;      // guest instructions of one slice
  uint64_t seed;         // of the jitter of the quantum
  uint64_t start;        // address of the first instruction of a region; 0: none
  uint64_t stop;
  enum ring ring;
  enum interleave interleave;
  enum region region;
  uint32_t nodes;  // how many CPUs were given a node; 0: none
  struct coherence_config coherence;
};

/** The guest that the options are for. */
struct guest {
  enum instruction_set set;
  bool system;    // a whole machine; otherwise one program
  uint32_t cpus;  // virtual CPUs of a machine, or the most threads of a program that are followed
};

/** Reads the arguments; false, and a sentence in `problem`, where one is unknown, malformed or unfit for
 * `guest`. The strings of the options are those of `arguments`. */
bool options_parse(struct options *options, const struct guest *guest, int count, char **arguments,
                   char *problem, size_t problem_bytes);

/** The words of the command line for a value. */
const char *ring_word(enum ring ring);
const char *interleave_word(enum interleave interleave);
const char *region_word(enum region region);

#endif
