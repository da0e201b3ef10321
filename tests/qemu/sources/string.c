
static _Alignas(64) char page[4096];
static void clear(unsigned long bytes) {
  void *to = page;
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(0) : "memory");
}
int main(void) {
  START;
  for (int i = 0; i < 100; i++) clear(sizeof page);
  STOP;
}
