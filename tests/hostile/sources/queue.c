/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "queue.h"

#include <stdlib.h>

int a_of(const struct queue *q)
{
	return q->a;
}

void make(struct queue *q)
{
	q->b = malloc(sizeof(struct b));
}

void drop(struct queue *q)
{
	free(q->b);
}
