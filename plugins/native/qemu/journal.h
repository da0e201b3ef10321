// SPDX-License-Identifier: GPL-2.0-or-later
// What virtual CPUs did, in order: written by the threads that run them, read by threads of our own.
//
// An emulator that waits for a simulation at every access spends most of its time on cache misses of the
// simulation. Here it appends 16 bytes. Where virtual CPUs run one at a time, a batch goes to the readers
// whenever another one runs or the batch is full, so that they read everything in the order of the guest.
#ifndef LINESMITH_JOURNAL_H
#define LINESMITH_JOURNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "block_shapes.h"
#include "coherence.h"

/** What was done; the first three have the values of enum coherence_kind. */
enum deed { DEED_LOAD, DEED_STORE, DEED_ATOMIC, DEED_BLOCK, DEED_LEAVE, DEED_SWITCH };

struct journal_entry {
  uint64_t address;  // of a block: its word
  uint32_t site;     // number of the instruction, of an access
  uint8_t width;     // bytes, of an access
  uint8_t deed;      // enum deed
  bool repeated;     // by a repeated string instruction
};

enum { JOURNAL_ENTRIES = 1024, JOURNAL_BATCHES = 256, JOURNAL_READERS = 2 };

/** Entries of one virtual CPU. */
struct journal_batch {
  uint32_t cpu;
  uint32_t count;
  struct journal_entry entries[JOURNAL_ENTRIES];
};

/** Who drives the virtual CPUs of a guest. */
enum journal_writers {
  WRITERS_ONE_THREAD,  // one thread all of them
  WRITERS_AT_ONCE      // a thread each: every entry is read at once, where it was written
};

typedef void journal_read(void *context, const struct journal_batch *batch);

struct journal_reader {
  struct journal *journal;
  journal_read *read;
  uint64_t done;  // batches
  bool threaded;
  pthread_t thread;
};

struct journal_page {
  _Alignas(64) struct journal_batch *batch;  // being filled
  uint32_t count;
  bool turning;  // the block added last ends in a call or a return, or a repeated access came behind it
  bool upper;    // the half of the addresses that it is in
};

struct journal {
  struct journal_page pages[COHERENCE_MAX_CPUS];
  enum journal_writers writers;
  unsigned running;      // with one thread: the virtual CPU whose page is not empty
  uint32_t capacity;     // entries of a batch before it goes to the readers
  _Atomic bool closed;   // nothing is kept any more
  pthread_mutex_t lock;  // of everything below
  pthread_cond_t filled;
  pthread_cond_t emptied;
  struct journal_batch *batches[JOURNAL_BATCHES];  // a ring; those that were read are spare
  uint64_t pushed;                                 // batches
  uint64_t awaited;  // somebody waits until so few are left; JOURNAL_BATCHES: nobody waits
  bool started;      // the threads of the readers
  bool ending;
  struct journal_reader readers[JOURNAL_READERS];
  unsigned reader_count;
  void *context;  // of the readers
  struct journal_batch *memory;
};

/** Makes an empty journal; false where there is no memory. */
bool journal_open(struct journal *journal, enum journal_writers writers, void *context);

/** Has `read` called for every batch, on a thread of its own unless writers write at once. Before the first
 * entry. */
void journal_add_reader(struct journal *journal, journal_read *read);

/** Hands what a virtual CPU has done to the readers. */
void journal_push(struct journal *journal, unsigned cpu);

/** Returns when the readers have read everything. No virtual CPU runs. */
void journal_settle(struct journal *journal);

/** Settles, and ends the readers. */
void journal_close(struct journal *journal);

/** Called in the child of a fork, which has no readers: nothing is kept from here on. */
void journal_disown(struct journal *journal);

/** Adds what `cpu` does. */
static inline void journal_add(struct journal *journal, unsigned cpu, struct journal_entry entry) {
  if (cpu != journal->running && journal->writers == WRITERS_ONE_THREAD) {
    journal_push(journal, journal->running);
    journal->running = cpu;
  }
  struct journal_page *page = &journal->pages[cpu];
  page->batch->entries[page->count++] = entry;
  if (entry.repeated) page->turning = true;
  if (page->count == journal->capacity) journal_push(journal, cpu);
}

/** Adds a block that `cpu` runs, where the readers need it: most neither call nor return, and follow one that
 * does not. */
static inline void journal_add_block(struct journal *journal, unsigned cpu, uint64_t block, bool turns) {
  struct journal_page *page = &journal->pages[cpu];
  bool upper = code_block_place(block) & 1;
  if (!turns && !page->turning && upper == page->upper) return;
  page->turning = turns;
  page->upper = upper;
  journal_add(journal, cpu, (struct journal_entry){.address = block, .deed = DEED_BLOCK});
}

#endif
