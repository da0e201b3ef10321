
static _Alignas(64) volatile int counter;
char stacks[2][4096] __attribute__((aligned(16)));
#define FUNCTION __attribute__((noinline, used))
FUNCTION void bump(void) { counter++; }
FUNCTION void seldom(void) { bump(); __asm__ volatile(""); }
FUNCTION void often(int depth) { if (depth) often(depth - 1); else bump(); __asm__ volatile(""); }
FUNCTION void by_pointer(void (*called)(int)) { called(2); __asm__ volatile(""); }
FUNCTION void work(void) { for (int i = 0; i < 20000; i++) if (i % 4) by_pointer(often); else seldom(); }
__asm__(".global _start\n"
  "_start: .inst 0xd2a9803f\n b 1f\n"
  "1: ldr x0, =0xc4000003\n mov x1, #1\n adr x2, both\n mov x3, #0\n hvc #0\n"
  "both: mrs x5, mpidr_el1\n and x5, x5, #1\n add x5, x5, #1\n ldr x6, =stacks\n"
  "add x6, x6, x5, lsl #12\n mov sp, x6\n bl work\n"
  "mrs x5, mpidr_el1\n and x5, x5, #1\n cbnz x5, asleep\n .inst 0xd2a9801f\n b 2f\n"
  "2: ldr x0, =0x84000008\n hvc #0\n asleep: wfi\n b asleep\n");
