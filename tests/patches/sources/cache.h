struct cache {
	long root;
	char name[48];
	long uses;
};

struct holder {
	struct cache cache;
};

struct other {
	int x;
};
