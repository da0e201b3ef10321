#ifndef CACHE_H
#define CACHE_H
#include "part.h"

struct cache {
	struct part *root;	/* read by everyone */
	long lock;		/* written by everyone */
	char name[56];
	long uses;
};
#endif
