struct cache {
	long root;
#ifdef CONFIG_LOCKS
	long lock;
	long owner;
#endif
	long uses;
};
