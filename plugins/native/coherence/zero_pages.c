// SPDX-License-Identifier: GPL-2.0-or-later
#include "zero_pages.h"

#include <sys/mman.h>

void *zero_pages_map(size_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  return pages == MAP_FAILED ? NULL : pages;
}

void zero_pages_unmap(void *pages, size_t bytes) {
  if (pages != NULL) munmap(pages, bytes);
}
