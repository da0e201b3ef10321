
int main(void) {
  static volatile int work;
  START;
  if (fork() == 0) { for (int i = 0; i < ROUNDS; i++) work++; STOP; _exit(0); }
  wait(NULL);
  STOP;
}
