struct box {
	int width;
	int height, depth;
};
struct box unit = { 1, 1 };
int wide(struct box *b) { return b->width; }
_Static_assert(__builtin_offsetof(struct box, height) == 4, "");
