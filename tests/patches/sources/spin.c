#include "car.h"

int spin(struct car *c)
{
	if (c->turns)
		return 0;
	return c->front->turns;
}
