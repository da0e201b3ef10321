/* seat is told here */
#define SEAT(x) \
	(&(x)->seat)
int f(struct car *c)
{
#ifdef NEVER
	puts("seat");
	return c->seat; // seat
#endif
	return c->seats;
}
