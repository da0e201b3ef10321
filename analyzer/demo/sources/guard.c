/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guard.h"

void guard_take(struct guard *guard, uint32_t holder) {
  while (atomic_exchange_explicit(&guard->word, 1, memory_order_acquire))
    while (atomic_load_explicit(&guard->word, memory_order_relaxed));
  guard->holder = holder;
}

void guard_release(struct guard *guard) {
  guard->holder = 0;
  atomic_store_explicit(&guard->word, 0, memory_order_release);
}
