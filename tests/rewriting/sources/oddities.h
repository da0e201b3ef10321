/**
 * struct odd - a record
 * @first: the first
 * @second: the second
 */
struct odd {
	int first;
	long second, *third;	/* of one declaration */
#ifdef CONFIG_SMP
	char fourth;
	short fifth;
#endif
	unsigned int low:3, high:5;
	union {
		int sixth;
		long seventh;
	};
	char eighth[3];
	long ninth;
};
struct even {
	char a;
	short b;
	int c;
	long d;
	struct odd odd;
};
