/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A spinning lock that knows its holder. */
#ifndef GUARD_H
#define GUARD_H

#include <stdatomic.h>
#include <stdint.h>

struct guard {
  atomic_uint word;
  uint32_t holder;
};

void guard_take(struct guard *guard, uint32_t holder);
void guard_release(struct guard *guard);

#endif
