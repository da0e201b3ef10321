// SPDX-License-Identifier: GPL-2.0-or-later
// Remembers which pages of the guest's kernel are registers of devices: those are in no cache.
#ifndef LINESMITH_DEVICE_PAGES_H
#define LINESMITH_DEVICE_PAGES_H

#include <stdatomic.h>
#include <stdbool.h>

#include "qemu_api.h"

enum { DEVICE_PAGES_SLOTS = 4096, DEVICE_PAGES_SHIFT = 12 };

/** A page and, in its low bit, whether it is a device's; a page takes the slot of another. */
struct device_pages {
  _Atomic uint64_t slots[DEVICE_PAGES_SLOTS];
};

/** Asks QEMU, which is slow, and remembers the answer. */
bool device_pages_ask(struct device_pages *pages, qemu_plugin_meminfo_t info, uint64_t address);

/** True where the page of `address`, a virtual address of the kernel, is a device's. */
static inline bool device_pages_has(struct device_pages *pages, qemu_plugin_meminfo_t info,
                                    uint64_t address) {
  uint64_t page = address >> DEVICE_PAGES_SHIFT;
  uint64_t slot = atomic_load_explicit(&pages->slots[page % DEVICE_PAGES_SLOTS], memory_order_relaxed);
  return slot >> 1 == page ? slot & 1 : device_pages_ask(pages, info, address);
}

#endif
