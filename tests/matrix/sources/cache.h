#ifndef CACHE_H
#define CACHE_H
struct cache {
	void *root;
	long lock;
	char name[56];
	long uses;
};
struct table {
	int count;
	struct cache first;
};
#endif
