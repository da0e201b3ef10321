/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A record that is allocated by itself, and embedded in another one which its code names. */
struct server {
	long cold[9];
	long served, waiting;
	long rest[8];
};

struct proxy {
	long lists[40];
	struct server standard;
	long more[200];
};

struct counters {
	long in, out, errors;
	long rest[20];
};

void count(struct counters *counters)
{
	counters->in++;
	counters->out++;
}

long failed(struct counters *counters)
{
	return counters->errors;
}

void reset(struct proxy *proxy)
{
	proxy->standard.served = 0;
}

long waiting_for(struct proxy *proxy)
{
	return proxy->standard.waiting;
}
