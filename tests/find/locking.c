/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table with a lock: which functions hold it while they write which members. */
struct spinlock {
	int word;
};

struct sleep_lock {
	long count;
	void *owner;
	void *first, *last;
};

struct table {
	struct sleep_lock slots_lock;
	void **slots;
	long entries;
	long hits;
	struct spinlock hits_lock;
	struct sleep_lock other_lock;
};

struct counter {
	struct spinlock guard;
	long value;
};

extern void lock_slowpath(struct sleep_lock *lock);
extern void spin_slowpath(struct spinlock *lock);

static inline __attribute__((always_inline)) void slots_lock(struct table *table)
{
	lock_slowpath(&table->slots_lock);
}

static inline __attribute__((always_inline)) void spin_lock(struct spinlock *lock)
{
	spin_slowpath(lock);
}

void table_grow(struct table *table, void **slots)
{
	slots_lock(table);
	table->slots = slots;
	table->entries++;
}

void table_shrink(struct table *table)
{
	slots_lock(table);
	table->entries--;
}

void table_look_up(struct table *table)
{
	table->hits++;
}

void table_init(struct table *table)
{
	table->hits = 0;
	table->entries = 0;
}

void counter_add(struct counter *counter)
{
	spin_lock(&counter->guard);
	counter->value++;
}

void table_forget(struct table *table)
{
	spin_lock(&table->hits_lock);
	table->hits = 0;
}
