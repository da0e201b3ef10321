/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records and functions whose shapes decide what can lie on a line; compiled with -g by the tests. */
struct node {
	struct node *left, *right;
};

struct tree {
	struct node *root;
	struct node *leftmost;
};

struct sleep_lock {
	long count;
	void *owner;
	int queue;
	int inner;
};

struct mapping {
	void *host;
	long flags;
	int usable;
	struct tree tree;
	struct sleep_lock lock;
	unsigned long pages;
};

struct file_node {
	long number[5];
	struct mapping mapping;
};

struct other {
	struct sleep_lock lock;
	struct tree tree;
};

struct group {
	unsigned char name[40];
	long load;
	void *entities;
	void *queues;
};

struct member_of {
	struct group *group;
};

void tree_insert(struct tree *tree, struct node *node)
{
	node->left = tree->root;
	tree->root = node;
}

struct node *tree_first(const struct tree *tree)
{
	return tree->leftmost;
}

void lock_slowpath(struct sleep_lock *lock)
{
	lock->count++;
}

long lock_spin_on_owner(struct sleep_lock *lock)
{
	return (long)lock->owner;
}

static inline __attribute__((always_inline)) long share_of(struct member_of *one)
{
	struct group *group = one->group;

	return group->load + (group->entities != 0);
}

long update_share(struct member_of *one)
{
	return share_of(one);
}

void touch_file(struct file_node *file)
{
	file->number[0]++;
}

void touch_other(struct other *other)
{
	other->lock.count++;
}

long load_of(struct member_of *one)
{
	return one->group->load + (one->group->entities != 0);
}
