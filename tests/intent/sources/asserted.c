#define CACHELINE_ASSERT_GROUP_MEMBER(TYPE, GROUP, MEMBER) \
	BUILD_BUG_ON(!(offsetof(TYPE, MEMBER)));
static void check(void)
{
	/* CACHELINE_ASSERT_GROUP_MEMBER(struct pipe, rx, comment); */
	CACHELINE_ASSERT_GROUP_MEMBER(struct pipe, rx, head);
	CACHELINE_ASSERT_GROUP_MEMBER(struct pipe, rx,
				      inner.tail); // CACHELINE_ASSERT_GROUP_MEMBER(struct pipe, rx, other);
	CACHELINE_ASSERT_GROUP_SIZE(struct pipe, rx, 91 + 4);
	CACHELINE_ASSERT_GROUP_MEMBER(struct pipe, tx, ops);
	CACHELINE_ASSERT_GROUP_SIZE(struct pipe, tx, TX_BYTES);
	CACHELINE_ASSERT_GROUP_SIZE(struct pipe, empty, 1);
	puts("CACHELINE_ASSERT_GROUP_MEMBER(struct pipe, rx, text);");
}
