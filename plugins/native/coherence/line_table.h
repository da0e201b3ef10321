// SPDX-License-Identifier: GPL-2.0-or-later
// The directory: one slot per cache line that was ever touched, found by line number, never removed.
#ifndef LINESMITH_LINE_TABLE_H
#define LINESMITH_LINE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// Bits of line_slot.state. A slot of zeros is a line that nobody has.
enum {
  STATE_OWNER = 0xff,      // 1 + CPU that may store without asking (states E and M); 0: nobody
  STATE_MODIFIED = 0x100,  // the owner has stored
  STATE_DETAILED = 0x200,  // line_slot.detail is valid
  STATE_HITS = 0x400,      // config.hits_after was reached: hits go to access records
  STATE_FIRST = 0xff0000,  // 1 + CPU of the first access
  STATE_FIRST_SHIFT = 16,
  STATE_LOCKED = 0x40000000  // a transition is under way
};

// One host cache line. Everything but `key`, `loads` and `stores` is changed with STATE_LOCKED held, except
// that an owner adds to `written` and a CPU clears its bit of `prefetched`.
struct line_slot {
  _Atomic uint64_t key;         // 1 + line number; 0: free
  _Atomic uint64_t holders;     // one bit for every CPU with a copy
  _Atomic uint64_t written;     // 64ths of the line that the owner stored to since it took ownership
  _Atomic uint64_t prefetched;  // holders that never used their copy
  _Atomic uint64_t loads;
  _Atomic uint64_t stores;
  uint64_t writer;  // the store that last took ownership, packed as a store_origin; 0: never stored to
  _Atomic uint32_t state;
  uint32_t detail;  // index into the details
};
_Static_assert(sizeof(struct line_slot) == 64, "a slot is one host cache line");

struct line_table {
  struct line_slot *slots;
  uint64_t mask;  // slots - 1
  _Atomic uint64_t used;
};

bool line_table_init(struct line_table *table, uint64_t slots);
void line_table_free(struct line_table *table);

// The slot of a line, which is made if need be. NULL when its neighbourhood is full.
struct line_slot *line_table_slot(struct line_table *table, uint64_t line);

static inline uint32_t line_table_index(const struct line_table *table, const struct line_slot *slot) {
  return (uint32_t)(slot - table->slots);
}

// Takes the lock of a slot and returns its state, without the lock's bit.
uint32_t line_slot_lock(struct line_slot *slot);

// Gives the slot a new state and frees its lock.
static inline void line_slot_unlock(struct line_slot *slot, uint32_t state) {
  atomic_store_explicit(&slot->state, state, memory_order_release);
}

#endif
