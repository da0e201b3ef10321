/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records as kernels have them in slabs, and code that touches them. */
struct rw_semaphore { long count; long owner; };
struct dentry { long hash, seq; struct rw_semaphore d_sem; long name[12]; struct rw_semaphore d_late; long end[6]; };
struct mm_struct { long users; struct rw_semaphore mmap_lock; long rest[20]; };
struct file { long pos; struct rw_semaphore f_sem; long rest[20]; };
struct task_struct { void *stack; struct mm_struct *mm; } task;
struct big_mutex { long state, holder, waiters; };
struct pool { long free; struct big_mutex m; long used; };
struct bank { long open[3]; struct big_mutex m; };
struct domain { long spans, overloaded; struct rw_semaphore levels[100]; };
struct nsproxy { long count, uts, all[9], net, last; };
/* A page is described elsewhere than in the memory that is mapped linearly. */
struct page { long flags, lru; };
struct folio { struct page page; } folio;
struct pair { long one, other; };
struct file *opened;
long get_nsproxy(struct nsproxy *n) { n->count++; return n->uts; }
long put_nsproxy(struct nsproxy *n) { n->net++; return n->last; }
long d_lookup(struct dentry *d) { d->seq = d->hash; return d->hash; }
long pull(struct domain *d) { d->overloaded = d->spans; return d->spans; }
void take(struct big_mutex *m) { m->holder = m->state; m->state = 1; }
void queue(struct big_mutex *m) { m->waiters = m->holder; }
void down_write(struct rw_semaphore *s) { s->owner = s->count; s->count = 1; }
long either(struct page *page, struct pair *pair) { return page->flags + pair->one + page->lru + pair->other; }
