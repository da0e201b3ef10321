// SPDX-License-Identifier: GPL-2.0-or-later
// Big arrays of zeros whose pages take memory only once they are written to.
#ifndef LINESMITH_ZERO_PAGES_H
#define LINESMITH_ZERO_PAGES_H

#include <stddef.h>

// NULL when the address space is full.
void *zero_pages_map(size_t bytes);

// NULL is fine.
void zero_pages_unmap(void *pages, size_t bytes);

#endif
