/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs like those that reports of user space are of: a tree beside its lock, and pairs of counters. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

struct rb_node {
	struct rb_node *parent, *right, *left;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct map {
	struct rb_node rb_node;
	uint64_t start, end;
};

struct maps {
	struct rb_root entries;
	pthread_rwlock_t lock;
};

struct map *maps__find(struct maps *maps, uint64_t address)
{
	struct rb_node *node;

	pthread_rwlock_rdlock(&maps->lock);
	for (node = maps->entries.rb_node; node;) {
		struct map *map = (struct map *)node;

		if (address >= map->start && address < map->end)
			break;
		node = address < map->start ? node->left : node->right;
	}
	pthread_rwlock_unlock(&maps->lock);
	return (struct map *)node;
}

struct map *maps__find_by_time(struct maps *maps, uint64_t time)
{
	struct map *map = maps__find(maps, time);

	return map && maps->entries.rb_node ? map : NULL;
}

int main(void)
{
	static struct maps maps = { .lock = PTHREAD_RWLOCK_INITIALIZER };

	return maps__find_by_time(&maps, 1) != NULL;
}
