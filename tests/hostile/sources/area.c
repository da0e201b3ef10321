/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
struct lock { int taken; };
struct area { long start; struct lock *lock; };
struct area *area_make(void)
{
	struct area *area = malloc(sizeof(*area));

	if (!area)
		return NULL;
	area->lock = malloc(sizeof(struct lock));
	if (!area->lock) {
		free(area);
		return NULL;
	}
	area->lock->taken = 0;
	return area;
}
void area_free(struct area *area)
{
	free(area->lock);
	free(area);
}
