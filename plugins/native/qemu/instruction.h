// SPDX-License-Identifier: GPL-2.0-or-later
// What the bytes of an instruction say: a marker of the region of interest, or an atomic access.
#ifndef LINESMITH_INSTRUCTION_H
#define LINESMITH_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Instruction sets whose guests can be followed. */
enum instruction_set { INSTRUCTION_X86_64, INSTRUCTION_AARCH64 };

enum instruction_marker { MARKER_NONE, MARKER_START, MARKER_STOP };

/** Bytes of a marker: no instruction of another size needs to be looked at. */
size_t instruction_marker_bytes(enum instruction_set set);

/** Tells the markers from every other instruction of `size` bytes.
 *
 * x86-64: nopl 0x4c534d01(%rax) starts and nopl 0x4c534d00(%rax) stops. AArch64: movz xzr, #0x4c01, lsl #16
 * starts and movz xzr, #0x4c00, lsl #16 stops. */
enum instruction_marker instruction_marker(enum instruction_set set, const uint8_t *bytes, size_t size);

/** What an instruction means for the calls under way. */
enum instruction_flow {
  FLOW_ON,
  FLOW_CALL,    // calls what returns behind it
  FLOW_RETURN,  // returns
  FLOW_LEAVE,   // stores the stack pointer, or what returns by it, where another task is to find it
  FLOW_SWITCH,  // takes it up from there
  FLOW_AIM,     // writes where the return behind it goes, as retpolines do
};

/** Reads it from the bytes.
 *
 * x86-64: CALL, RET, and MOV between RSP and memory without a segment, by which kernels switch tasks.
 * AArch64: BL, BLR, RET, and LDR and STR of the link register by another register than the stack's, likewise.
 */
enum instruction_flow instruction_flow(enum instruction_set set, const uint8_t *bytes, size_t size);

/** How an instruction touches memory. */
struct instruction_habit {
  bool atomic;    // it reads and writes one location as one access
  bool repeated;  // it touches adjoining locations, any number of them
};

/** Reads the habit from the bytes.
 *
 * x86-64: a lock prefix, or xchg with memory, is atomic; string instructions with a repeat prefix are
 * repeated. AArch64: LSE atomics, CAS, SWP and store-exclusive are atomic. Sources: Intel SDM volume 2,
 * "LOCK", "XCHG" and "REP"; Arm ARM, encodings of "Loads and stores". */
struct instruction_habit instruction_habit(enum instruction_set set, const uint8_t *bytes, size_t size);

#endif
