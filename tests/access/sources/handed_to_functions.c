struct mutex { int word; };
struct table { long size; struct mutex size_mutex; long entries; };
void acquire(struct mutex *m);
void release(struct mutex *m);
static inline __attribute__((always_inline)) void size_mutex_lock(struct table *t) { acquire(&t->size_mutex); }
static inline __attribute__((always_inline)) void size_mutex_unlock(struct table *t) { release(&t->size_mutex); }
__attribute__((noinline)) void acquire(struct mutex *m) { __atomic_fetch_add(&m->word, 1, 5); }
__attribute__((noinline)) void release(struct mutex *m) { __atomic_fetch_sub(&m->word, 1, 5); }
void grow(struct table *t) { size_mutex_lock(t); t->size++; size_mutex_unlock(t); }
long peek(struct table *t) { size_mutex_lock(t); long size = t->size; size_mutex_unlock(t); return size; }
void count(struct table *t) { t->entries++; }
