/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two counters on lines of their own, but the two lines of one aligned pair. */
#ifndef PAIR_H
#define PAIR_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

struct pair {
  alignas(128) _Atomic uint64_t first;
  uint64_t quiet[7];
  _Atomic uint64_t second;
  uint64_t calm[23];
};

#endif
