// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "journal.h"

#include <signal.h>
#include <sys/mman.h>

// Readers sleep until a quarter of the ring is filled, a writer that found no room until half of it is free.
enum { WAKING = JOURNAL_BATCHES / 4, ROOM = JOURNAL_BATCHES / 2 };
enum { ALL_BATCHES = JOURNAL_BATCHES + COHERENCE_MAX_CPUS };

bool journal_open(struct journal *journal, enum journal_writers writers, void *context) {
  journal->writers = writers;
  journal->context = context;
  journal->capacity = writers == WRITERS_AT_ONCE ? 1 : JOURNAL_ENTRIES;
  journal->awaited = JOURNAL_BATCHES;
  pthread_mutex_init(&journal->lock, NULL);
  pthread_cond_init(&journal->filled, NULL);
  pthread_cond_init(&journal->emptied, NULL);
  void *memory = mmap(NULL, ALL_BATCHES * sizeof *journal->memory, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  journal->memory = memory;
  for (unsigned i = 0; i < JOURNAL_BATCHES; i++) journal->batches[i] = &journal->memory[i];
  for (unsigned cpu = 0; cpu < COHERENCE_MAX_CPUS; cpu++)
    journal->pages[cpu].batch = &journal->memory[JOURNAL_BATCHES + cpu];
  return true;
}

void journal_add_reader(struct journal *journal, journal_read *read) {
  journal->readers[journal->reader_count++] = (struct journal_reader){.journal = journal, .read = read};
}

/** Batches that some reader has yet to read. */
static uint64_t unread(const struct journal *journal) {
  uint64_t most = 0;
  for (unsigned i = 0; i < journal->reader_count; i++) {
    uint64_t left = journal->pushed - journal->readers[i].done;
    if (left > most) most = left;
  }
  return most;
}

static void *read_batches(void *data) {
  struct journal_reader *reader = data;
  struct journal *journal = reader->journal;
  pthread_mutex_lock(&journal->lock);
  for (;;) {
    while (reader->done == journal->pushed && !journal->ending)
      pthread_cond_wait(&journal->filled, &journal->lock);
    if (reader->done == journal->pushed) break;
    const struct journal_batch *batch = journal->batches[reader->done % JOURNAL_BATCHES];
    pthread_mutex_unlock(&journal->lock);
    reader->read(journal->context, batch);
    pthread_mutex_lock(&journal->lock);
    reader->done++;
    if (journal->awaited < JOURNAL_BATCHES && unread(journal) <= journal->awaited)
      pthread_cond_broadcast(&journal->emptied);
  }
  pthread_mutex_unlock(&journal->lock);
  return NULL;
}

/** A reader without a thread is read to by whoever pushes. The signals of a guest are for the threads that
 * run it. */
static void start_readers(struct journal *journal) {
  journal->started = true;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (unsigned i = 0; i < journal->reader_count; i++) {
    struct journal_reader *reader = &journal->readers[i];
    reader->threaded = !pthread_create(&reader->thread, NULL, read_batches, reader);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/** Waits until at most `left` batches are unread. */
static void await(struct journal *journal, uint64_t left) {
  while (unread(journal) > left) {
    pthread_cond_broadcast(&journal->filled);
    journal->awaited = left;
    pthread_cond_wait(&journal->emptied, &journal->lock);
  }
  journal->awaited = JOURNAL_BATCHES;
}

/** Puts a full batch into the ring and takes a spare one out of it. */
static void exchange(struct journal *journal, struct journal_page *page) {
  if (!journal->started) start_readers(journal);
  if (unread(journal) == JOURNAL_BATCHES) await(journal, ROOM);
  struct journal_batch **place = &journal->batches[journal->pushed % JOURNAL_BATCHES];
  struct journal_batch *spare = *place;
  *place = page->batch;
  page->batch = spare;
  journal->pushed++;
  for (unsigned i = 0; i < journal->reader_count; i++) {
    struct journal_reader *reader = &journal->readers[i];
    if (!reader->threaded) {
      reader->read(journal->context, *place);
      reader->done++;
    } else if (journal->pushed - reader->done == WAKING) {
      pthread_cond_broadcast(&journal->filled);
    }
  }
}

void journal_push(struct journal *journal, unsigned cpu) {
  struct journal_page *page = &journal->pages[cpu];
  if (!page->count) return;
  page->batch->cpu = cpu;
  page->batch->count = page->count;
  page->count = 0;
  if (journal->closed) return;
  if (journal->writers == WRITERS_AT_ONCE) {
    for (unsigned i = 0; i < journal->reader_count; i++)
      journal->readers[i].read(journal->context, page->batch);
    return;
  }
  pthread_mutex_lock(&journal->lock);
  exchange(journal, page);
  pthread_mutex_unlock(&journal->lock);
}

void journal_settle(struct journal *journal) {
  for (unsigned cpu = 0; cpu < COHERENCE_MAX_CPUS; cpu++) {
    journal_push(journal, cpu);
    journal->pages[cpu].turning = true;  // readers may forget what was before
  }
  pthread_mutex_lock(&journal->lock);
  await(journal, 0);
  pthread_mutex_unlock(&journal->lock);
}

void journal_close(struct journal *journal) {
  journal_settle(journal);
  journal->closed = true;
  pthread_mutex_lock(&journal->lock);
  journal->ending = true;
  pthread_cond_broadcast(&journal->filled);
  pthread_mutex_unlock(&journal->lock);
  for (unsigned i = 0; i < journal->reader_count; i++)
    if (journal->readers[i].threaded) pthread_join(journal->readers[i].thread, NULL);
}

void journal_disown(struct journal *journal) {
  journal->closed = true;
  journal->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}
