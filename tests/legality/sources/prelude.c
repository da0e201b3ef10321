#include <stddef.h>
#include <stdio.h>
#include <string.h>
static void say(unsigned long value) { fwrite(&value, sizeof value, 1, stdout); }
static unsigned long first_bit(const void *object, size_t size)
{
	for (size_t bit = 0; bit < 8 * size; bit++)
		if (((const unsigned char *)object)[bit / 8] >> bit % 8 & 1)
			return bit;
	return -1;
}
