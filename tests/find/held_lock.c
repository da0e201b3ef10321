/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A lock that eight types hold, and one of them with a counter 24 bytes behind it. */
struct raw_spinlock { int locked; int waiters; };
struct one { struct raw_spinlock lock; } one;
struct two { long a; struct raw_spinlock lock; } two;
struct three { long a[2]; struct raw_spinlock lock; } three;
struct four { long a[3]; struct raw_spinlock lock; } four;
struct five { long a[4]; struct raw_spinlock lock; } five;
struct six { long a[5]; struct raw_spinlock lock; } six;
struct seven { long a[6]; struct raw_spinlock lock; } seven;
struct vector { long lists[10]; struct raw_spinlock lock; long cost[2]; long age; long rest[4]; };
struct padded { long a[3]; struct raw_spinlock lock; long b[2]; long age; } __attribute__((aligned(64)));

void take(struct raw_spinlock *lock)
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

void drop(struct six *six)
{
	six->lock.locked = 0;
}

long get_padded(struct padded *padded)
{
	return ++padded->age;
}
