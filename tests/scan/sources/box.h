struct box {
	int width;
	int height;
};
static inline int area(const struct box *b) { return b->width * b->height; }
