// SPDX-License-Identifier: GPL-2.0-or-later
#include "device_pages.h"

bool device_pages_ask(struct device_pages *pages, qemu_plugin_meminfo_t info, uint64_t address) {
  const struct qemu_plugin_hwaddr *place = qemu_plugin_get_hwaddr(info, address);
  bool device = place && qemu_plugin_hwaddr_is_io(place);
  uint64_t page = address >> DEVICE_PAGES_SHIFT;
  atomic_store_explicit(&pages->slots[page % DEVICE_PAGES_SLOTS], page << 1 | device, memory_order_relaxed);
  return device;
}
