/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that could touch several records at one place by what they declare, and touch one. */
struct link {
	struct link *next, *previous;
};

struct account {
	long opened[4];
	long balance;
	struct link link;
};

struct customer {
	void *name[4];
	long visits;
	struct link link;
};

struct table {
	long size;
	struct account accounts[8];
};

void pay(struct account *account, const struct customer *customer)
{
	account->balance += customer->name[0] != 0;
}

long read_balance(struct account *account, struct customer *customer)
{
	return customer->name[1] ? account->balance : 0;
}

void unlink_account(struct account *account)
{
	account->link.next->previous = account->link.previous;
	account->link.previous->next = account->link.next;
}

void pay_one(struct table *table, int which)
{
	table->accounts[which].balance++;
}

long third_opened(struct table *table)
{
	return table->accounts[2].opened[1];
}

struct seqcount {
	unsigned int sequence;
};

struct clock {
	struct seqcount seq;
	long now;
};

long read_clock(struct clock *clock)
{
	return clock->seq.sequence & 1 ? 0 : clock->now;
}

void set_clock(struct clock *clock, long now)
{
	clock->seq.sequence++;
	clock->now = now;
}

void visit(struct customer *customer)
{
	customer->visits++;
}

long rows(struct table *table)
{
	return table->size;
}

struct gate {
	long count;
	void *owner;
};

struct area {
	long start, end;
	struct area *parent, *left, *right;
	long last_below;
	void *file;
	long place;
};

struct tree {
	struct area *root, *leftmost;
};

struct mapping {
	long cold[9];
	struct tree tree;
	struct gate gate;
	long rest[500];
};

struct numbers {
	long used;
	struct gate gate;
};

void enter(struct gate *gate, void *self)
{
	gate->count++;
	gate->owner = self;
}

void remove_area(struct area *area, struct tree *tree)
{
	if (tree->leftmost == area)
		tree->leftmost = area->right ? area->right : area->parent;
	if (area->left)
		area->left->last_below = area->end - area->start + area->place;
}

long used_of(struct numbers *numbers, struct mapping *mapping)
{
	return numbers->used + mapping->cold[0];
}

struct mutex {
	long owner;
};

struct worker {
	long state;
	struct mutex own;
};

struct pool {
	struct mutex mutex;
	long free, used;
};

void give(struct mutex *mutex, struct worker *self)
{
	if (mutex->owner == self->state)
		mutex->owner = 0;
}

long free_of(struct pool *pool)
{
	return pool->free;
}
