/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records that come from general and merged caches, so that only code tells what an object is. */
const char linux_banner[] = "Linux version 6.1.0 (nobody@nowhere)";
struct task_struct { void *stack; long on_cpu; } task;
struct other { long name[20]; } other;
struct channel {
	long head;
	long users;
	long tail;
	long size;
	long cold[17];
};
struct slot { long page; int offset, length; long ops, flags, spare; };
struct late { struct late *next; void (*func)(struct late *); };
struct handle { union { struct late late; unsigned int mode; }; long inode, rest[4], count, end[20]; };
long push(struct channel *c) { c->head++; return c->size; }
long pull(struct channel *c) { c->tail = c->size; return c->users; }
long fill(struct slot *s) { s->page = s->ops; return s->flags; }
int drain(struct slot *s) { s->offset += s->length; return s->length; }
void put(struct handle *h, void (*func)(struct late *)) { h->count--; h->late.func = func; h->late.next = 0; }
long node(struct handle *h) { return h->inode; }
long total;
long add(void) { return ++total; }
