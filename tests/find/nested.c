/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records within records: which of them says most of an object whose members are hot. */
struct mapping {
	long mask;
	long tree;
	long pages[8];
};

struct node {
	long mode[3];
	struct mapping data;
};

/* What lies in many others says nothing of the object around it. */
#define HOLDER(number) struct inode_##number { long state; struct entry entry; } inode_##number
struct cold {
	long mask;
	long tree;
	long pages[8];
};

struct entry {
	long mode[3];
	struct cold data;
};

HOLDER(0);
HOLDER(1);
HOLDER(2);
HOLDER(3);
HOLDER(4);
HOLDER(5);
HOLDER(6);
HOLDER(7);

struct big_lock {
	long word;
	long owner;
	long waiting[8];
};

struct locked {
	long mode[3];
	struct big_lock guard;
};

struct link {
	long next, previous;
};

struct small {
	long mode[3];
	struct link link;
};

long open_node(struct node *node)
{
	return node->mode[0]++;
}

void fill_node(struct node *node)
{
	node->data.mask++;
	node->data.tree++;
}

void fill_entry(struct entry *entry)
{
	entry->data.mask++;
	entry->data.tree++;
}

void lock(struct locked *locked)
{
	locked->guard.word++;
	locked->guard.owner++;
}

void link_small(struct small *small)
{
	small->link.next++;
	small->link.previous++;
}
