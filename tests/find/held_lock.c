/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A lock that eight types hold, and one of them with a counter 24 bytes behind it. */
struct word { int locked; int waiters; };
struct one { struct word lock; } one;
struct two { long a; struct word lock; } two;
struct three { long a[2]; struct word lock; } three;
struct four { long a[3]; struct word lock; } four;
struct five { long a[4]; struct word lock; } five;
struct six { long a[5]; struct word lock; } six;
struct seven { long a[6]; struct word lock; } seven;
struct vector { long lists[10]; struct word lock; long cost[2]; long age; long rest[4]; };

void take(struct word *lock)
{
	lock->waiters = lock->locked;
	lock->locked = 1;
}

long get_older(struct vector *vector)
{
	return ++vector->age;
}

long first(struct seven *seven)
{
	return seven->a[0];
}
