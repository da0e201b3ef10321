/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variables that several threads work on: one record, an array of records, an array of plain counters. */
#include <stddef.h>

struct meter {
	unsigned size;
	unsigned limit;
	unsigned wanted;
	unsigned least;
	unsigned spare[4];
	unsigned taken;
	unsigned given;
	unsigned more[5];
};

struct ring {
	long head;
	long tail;
	long name;
};

__attribute__((aligned(128))) long begin[12] = {1};
struct meter meter = {4096, 1, 2, 3};
__attribute__((aligned(64))) struct ring rings[8] = {{1}};
__attribute__((aligned(64))) size_t used[16] = {1};
int here;

struct clock {
	long base;
	long mono;
	long raw;
	long tick;
};

/* A type without a name around a record, of which code knows the record alone. */
struct {
	long sequence;
	struct clock clock;
} core = {1};

__attribute__((noinline)) void take(void)
{
	meter.taken++;
}

__attribute__((noinline)) void give(void)
{
	meter.given++;
}

__attribute__((noinline)) unsigned least(void)
{
	return meter.least;
}

__attribute__((noinline)) unsigned wanted(void)
{
	return meter.wanted;
}

__attribute__((noinline)) void push(int which)
{
	rings[which].head++;
}

__attribute__((noinline)) long pull(int which)
{
	return rings[which].tail++;
}

__attribute__((noinline)) void count(size_t bytes)
{
	used[here] += bytes;
}

__attribute__((noinline)) size_t counted(void)
{
	size_t sum = 0;

	for (int i = 0; i < here; i++)
		sum += used[i];
	return sum;
}

__attribute__((noinline)) void advance(struct clock *clock)
{
	clock->mono++;
}

__attribute__((noinline)) long now(const struct clock *clock)
{
	return clock->raw;
}

int main(int number, char **words)
{
	(void)words;
	take();
	give();
	push(number);
	count(number);
	advance(&core.clock);
	return (int)(begin[number] + pull(number) + counted() + least() + wanted() + now(&core.clock));
}
