/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A record whose members another build of the program has elsewhere, and one that the same functions know. */
struct pages {
	long host;
	int mask;
	int writable;
	long root, first;
	long number, index;
	long flags;
	long count, owner;
	long cold[10];
	long last;
};

struct user {
	long name;
	long seen;
};

long mask_of(struct pages *pages)
{
	return pages->mask;
}

void insert(struct pages *pages, long area)
{
	pages->root = area;
}

long first_of(struct pages *pages)
{
	return pages->first;
}

long number_of(struct pages *pages)
{
	return pages->number + pages->index;
}

void take(struct pages *pages)
{
	__atomic_fetch_add(&pages->count, 1, __ATOMIC_SEQ_CST);
}

void own(struct pages *pages, long self)
{
	pages->owner = self;
}

long last_of(struct pages *pages)
{
	return pages->last;
}

void set_last(struct pages *pages, long last)
{
	pages->last = last;
}

void add_last(struct pages *pages)
{
	pages->last++;
}

long seen_by(struct pages *pages, struct user *user)
{
	return pages->flags + user->seen;
}

long name_of(struct pages *pages, struct user *user)
{
	return pages->number + user->name;
}
