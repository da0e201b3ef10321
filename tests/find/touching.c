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
