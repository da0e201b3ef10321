#include <stdio.h>
#include <string.h>
static size_t first_bit(const void *at, size_t size) {
  const unsigned char *bytes = at;
  for (size_t bit = 0; bit < 8 * size; bit++) if (bytes[bit / 8] >> bit % 8 & 1) return bit;
  return ~(size_t)0;
}
int main(void) {
