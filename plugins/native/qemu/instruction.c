// SPDX-License-Identifier: GPL-2.0-or-later
#include "instruction.h"

#include <string.h>

static const uint8_t x86_start[] = {0x0f, 0x1f, 0x80, 0x01, 0x4d, 0x53, 0x4c};
static const uint8_t x86_stop[] = {0x0f, 0x1f, 0x80, 0x00, 0x4d, 0x53, 0x4c};
static const uint32_t arm_start = 0xd2a9803f;
static const uint32_t arm_stop = 0xd2a9801f;

enum { ARM_BYTES = 4 };

static uint32_t arm_word(const uint8_t *bytes) {
  return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

size_t instruction_marker_bytes(enum instruction_set set) {
  return set == INSTRUCTION_X86_64 ? sizeof x86_start : ARM_BYTES;
}

static enum instruction_marker x86_marker(const uint8_t *bytes) {
  if (!memcmp(bytes, x86_start, sizeof x86_start)) return MARKER_START;
  return memcmp(bytes, x86_stop, sizeof x86_stop) ? MARKER_NONE : MARKER_STOP;
}

static enum instruction_marker arm_marker(uint32_t word) {
  if (word == arm_start) return MARKER_START;
  return word == arm_stop ? MARKER_STOP : MARKER_NONE;
}

enum instruction_marker instruction_marker(enum instruction_set set, const uint8_t *bytes, size_t size) {
  if (size != instruction_marker_bytes(set)) return MARKER_NONE;
  return set == INSTRUCTION_X86_64 ? x86_marker(bytes) : arm_marker(arm_word(bytes));
}

/** Operand-size, address-size, segment, repeat and lock prefixes, then at most one REX. */
static bool x86_is_prefix(uint8_t byte) {
  return byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e ||
         byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65;
}

static bool x86_is_string(uint8_t opcode) {
  return (opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf);
}

static struct instruction_habit x86_habit(const uint8_t *bytes, size_t size) {
  bool lock = false, repeat = false;
  size_t at = 0;
  for (; at < size && x86_is_prefix(bytes[at]); at++) {
    lock |= bytes[at] == 0xf0;
    repeat |= bytes[at] == 0xf2 || bytes[at] == 0xf3;
  }
  if (at < size && (bytes[at] & 0xf0) == 0x40) at++;
  bool exchange = at + 1 < size && (bytes[at] & 0xfe) == 0x86 && bytes[at + 1] >> 6 != 3;
  return (struct instruction_habit){.atomic = lock || exchange,
                                    .repeated = repeat && at < size && x86_is_string(bytes[at])};
}

/** MOV between RSP and memory, or from a register to where RSP points. */
static enum instruction_flow x86_stack_move(const uint8_t *bytes, size_t size) {
  if (size < 3 || (bytes[0] & 0xf8) != 0x48 || (bytes[1] & 0xfd) != 0x89) return FLOW_ON;
  uint8_t mode = bytes[2] >> 6, moved = bytes[2] >> 3 & 7, base = bytes[2] & 7;
  if (mode == 3) return FLOW_ON;
  if (moved == 4 && !(bytes[0] & 4)) return bytes[1] == 0x8b ? FLOW_SWITCH : FLOW_LEAVE;
  return bytes[1] == 0x89 && !mode && base == 4 && size == 4 && bytes[3] == 0x24 ? FLOW_AIM : FLOW_ON;
}

static enum instruction_flow x86_flow(const uint8_t *bytes, size_t size) {
  enum instruction_flow move = x86_stack_move(bytes, size);
  if (move != FLOW_ON) return move;
  size_t at = 0;
  while (at < size && x86_is_prefix(bytes[at])) at++;
  if (at < size && (bytes[at] & 0xf0) == 0x40) at++;
  if (at == size) return FLOW_ON;
  if (bytes[at] == 0xc3 || bytes[at] == 0xc2) return FLOW_RETURN;
  bool by_pointer = bytes[at] == 0xff && at + 1 < size && (bytes[at + 1] >> 3 & 7) == 2;
  return bytes[at] == 0xe8 || by_pointer ? FLOW_CALL : FLOW_ON;
}

static enum instruction_flow arm_flow(uint32_t word) {
  bool direct = (word & 0xfc000000) == 0x94000000;
  bool by_register = (word & 0xfffffc1f) == 0xd63f0000 || (word & 0xfefff800) == 0xd63f0800;  // BLR, BLRAA
  bool back = (word & 0xfffffc1f) == 0xd65f0000 || (word & 0xfffffbff) == 0xd65f0bff;         // RET, RETAA
  if (direct || by_register) return FLOW_CALL;
  if (back) return FLOW_RETURN;
  // LDR and STR of X30 by a register that is neither X29 nor SP, at no offset.
  bool linked = (word & 0xffbffc1f) == 0xf900001e && (word >> 5 & 31) < 29;
  if (!linked) return FLOW_ON;
  return word & 0x00400000 ? FLOW_SWITCH : FLOW_LEAVE;
}

enum instruction_flow instruction_flow(enum instruction_set set, const uint8_t *bytes, size_t size) {
  if (set == INSTRUCTION_X86_64) return x86_flow(bytes, size);
  return size == ARM_BYTES ? arm_flow(arm_word(bytes)) : FLOW_ON;
}

static bool arm_is_atomic(uint32_t word) {
  bool load_acquire_rcpc = (word & 0x3ffffc00) == 0x38bfc000;
  bool read_modify_write = (word & 0x3b200c00) == 0x38200000 && !load_acquire_rcpc;
  bool compare_and_swap = (word & 0x3fa07c00) == 0x08a07c00 || (word & 0xbfa07c00) == 0x08207c00;
  bool store_exclusive = (word & 0x3fe00000) == 0x08000000 || (word & 0xbfe00000) == 0x88200000;
  return read_modify_write || compare_and_swap || store_exclusive;
}

struct instruction_habit instruction_habit(enum instruction_set set, const uint8_t *bytes, size_t size) {
  if (set == INSTRUCTION_X86_64) return x86_habit(bytes, size);
  return (struct instruction_habit){.atomic = size == ARM_BYTES && arm_is_atomic(arm_word(bytes))};
}
