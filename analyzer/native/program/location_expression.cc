// SPDX-License-Identifier: GPL-2.0-or-later
#include "program/location_expression.h"

#include <dwarf.h>

#include <array>

namespace linesmith {
namespace {

// Compilers nest a handful of values; a deeper stack is not followed.
constexpr std::size_t kDeepestStack = 16;
constexpr std::uint64_t kLargestPiece = 1 << 20;

// What an expression has led to so far: a register, a value, or an address in memory.
enum class Result : std::uint8_t { kAddress, kRegister, kValue, kNothing };

class Evaluation {
 public:
  Evaluation(Bytes expression, const UnitAddresses& addresses, const ExpressionValue& frame_base)
      : cursor_(expression, addresses.little_endian()), addresses_(addresses), frame_base_(frame_base) {}

  void AppendPlaces(std::vector<ExpressionPlace>& places);
  // The value that the expression computes; a register stands for what it holds.
  ExpressionValue Value();

 private:
  void Step(std::uint8_t operation, std::vector<ExpressionPlace>* places);
  bool PushLiteral(std::uint8_t operation);
  bool PushAddress(std::uint8_t operation);
  bool Arithmetic(std::uint8_t operation);
  bool Compute(std::uint8_t operation);
  bool Finish(std::uint8_t operation);
  void Push(ExpressionValue value);
  ExpressionValue Pop();
  void Add(std::int64_t sign);
  void PushEntryValue();
  void EndPiece(std::uint64_t bytes, std::vector<ExpressionPlace>* places);
  bool Place(ExpressionPlace& place) const;

  ByteCursor cursor_;
  const UnitAddresses& addresses_;
  ExpressionValue frame_base_;
  std::array<ExpressionValue, kDeepestStack> stack_;
  std::size_t depth_ = 0;
  Result result_ = Result::kAddress;
  std::uint64_t register_ = 0;
  std::uint64_t piece_offset_ = 0;
  bool pieces_ = false;
};

void Evaluation::Push(ExpressionValue value) {
  if (depth_ == kDeepestStack) throw Truncated();
  stack_[depth_++] = value;
}

ExpressionValue Evaluation::Pop() {
  if (depth_ == 0) throw Truncated();
  return stack_[--depth_];
}

// Pops two values and pushes their sum (`sign` 1) or difference (-1).
void Evaluation::Add(std::int64_t sign) {
  const ExpressionValue right = Pop();
  ExpressionValue left = Pop();
  const auto amount = static_cast<std::uint64_t>(right.offset) * static_cast<std::uint64_t>(sign);
  if (right.base == ValueBase::kNumber) {
    left.offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(left.offset) + amount);
    return Push(left);
  }
  if (left.base != ValueBase::kNumber || sign < 0) return Push({});
  Push({right.base, right.reg, static_cast<std::int64_t>(static_cast<std::uint64_t>(left.offset) + amount)});
}

bool Evaluation::PushLiteral(std::uint8_t operation) {
  const auto number = [](std::int64_t value) { return ExpressionValue{ValueBase::kNumber, 0xff, value}; };
  switch (operation) {
    case DW_OP_const1u:
      return Push(number(cursor_.U8())), true;
    case DW_OP_const1s:
      return Push(number(static_cast<std::int8_t>(cursor_.U8()))), true;
    case DW_OP_const2u:
      return Push(number(cursor_.U16())), true;
    case DW_OP_const2s:
      return Push(number(static_cast<std::int16_t>(cursor_.U16()))), true;
    case DW_OP_const4u:
      return Push(number(cursor_.U32())), true;
    case DW_OP_const4s:
      return Push(number(static_cast<std::int32_t>(cursor_.U32()))), true;
    case DW_OP_const8u:
    case DW_OP_const8s:
      return Push(number(static_cast<std::int64_t>(cursor_.U64()))), true;
    case DW_OP_constu:
      return Push(number(static_cast<std::int64_t>(cursor_.Uleb()))), true;
    case DW_OP_consts:
      return Push(number(cursor_.Sleb())), true;
    default:
      if (operation < DW_OP_lit0 || operation > DW_OP_lit31) return false;
      return Push(number(operation - DW_OP_lit0)), true;
  }
}

ExpressionValue InRegister(std::uint64_t number, std::int64_t offset) {
  if (number > 0xfe) return {};
  return {ValueBase::kRegister, static_cast<std::uint8_t>(number), offset};
}

bool Evaluation::PushAddress(std::uint8_t operation) {
  switch (operation) {
    case DW_OP_addr:
      return Push({ValueBase::kAddress, 0xff,
                   static_cast<std::int64_t>(cursor_.Unsigned(addresses_.address_bytes()))}),
             true;
    case DW_OP_addrx:
    case DW_OP_GNU_addr_index:
    case DW_OP_constx:
    case DW_OP_GNU_const_index: {
      const auto entry = addresses_.Indexed(cursor_.Uleb());
      const bool address = operation == DW_OP_addrx || operation == DW_OP_GNU_addr_index;
      if (!entry) return Push({}), true;
      return Push({address ? ValueBase::kAddress : ValueBase::kNumber, 0xff,
                   static_cast<std::int64_t>(*entry)}),
             true;
    }
    case DW_OP_fbreg: {
      ExpressionValue value = frame_base_;
      value.offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(value.offset) +
                                               static_cast<std::uint64_t>(cursor_.Sleb()));
      return Push(value), true;
    }
    case DW_OP_call_frame_cfa:
      return Push({ValueBase::kFrame, 0xff, 0}), true;
    case DW_OP_bregx: {
      const std::uint64_t number = cursor_.Uleb();
      return Push(InRegister(number, cursor_.Sleb())), true;
    }
    case DW_OP_entry_value:
    case DW_OP_GNU_entry_value:
      return PushEntryValue(), true;
    default:
      if (operation < DW_OP_breg0 || operation > DW_OP_breg31) return false;
      return Push(InRegister(operation - DW_OP_breg0, cursor_.Sleb())), true;
  }
}

// DW_OP_entry_value holds an expression of its own; that of a register is what compilers write.
void Evaluation::PushEntryValue() {
  const std::uint64_t length = cursor_.Uleb();
  const std::uint8_t* start = cursor_.position();
  cursor_.Skip(length);
  ByteCursor inner(start, cursor_.position(), addresses_.little_endian());
  const std::uint8_t operation = inner.U8();
  ExpressionValue value;
  if (operation >= DW_OP_reg0 && operation <= DW_OP_reg31) value = InRegister(operation - DW_OP_reg0, 0);
  if (operation == DW_OP_regx) value = InRegister(inner.Uleb(), 0);
  if (!inner.done()) value = {};
  if (value.base == ValueBase::kRegister) value.base = ValueBase::kEntry;
  Push(value);
}

bool Evaluation::Arithmetic(std::uint8_t operation) {
  switch (operation) {
    case DW_OP_plus_uconst: {
      ExpressionValue value = Pop();
      value.offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(value.offset) + cursor_.Uleb());
      return Push(value), true;
    }
    case DW_OP_plus:
      return Add(1), true;
    case DW_OP_minus:
      return Add(-1), true;
    case DW_OP_nop:
      return true;
    case DW_OP_dup: {
      const ExpressionValue value = Pop();
      Push(value);
      return Push(value), true;
    }
    case DW_OP_drop:
      return Pop(), true;
    case DW_OP_form_tls_address:
    case DW_OP_GNU_push_tls_address: {
      const ExpressionValue value = Pop();
      const bool known = value.base == ValueBase::kNumber || value.base == ValueBase::kAddress;
      return Push(known ? ExpressionValue{ValueBase::kThread, 0xff, value.offset} : ExpressionValue{}), true;
    }
    default:
      return false;
  }
}

// Operations whose result is not followed, so that the pieces around them are not lost.
bool Evaluation::Compute(std::uint8_t operation) {
  switch (operation) {
    case DW_OP_deref_size:
      cursor_.U8();
      [[fallthrough]];
    case DW_OP_deref:
    case DW_OP_neg:
    case DW_OP_not:
    case DW_OP_abs:
      return Pop(), Push({}), true;
    case DW_OP_convert:
    case DW_OP_GNU_convert:
    case DW_OP_reinterpret:
    case DW_OP_GNU_reinterpret:
      cursor_.Uleb();
      return Pop(), Push({}), true;
    case DW_OP_regval_type:
    case DW_OP_GNU_regval_type:
      cursor_.Uleb();
      cursor_.Uleb();
      return Push({}), true;
    case DW_OP_and:
    case DW_OP_or:
    case DW_OP_xor:
    case DW_OP_mul:
    case DW_OP_div:
    case DW_OP_mod:
    case DW_OP_shl:
    case DW_OP_shr:
    case DW_OP_shra:
      return Pop(), Pop(), Push({}), true;
    default:
      return operation >= DW_OP_eq && operation <= DW_OP_ne && (Pop(), Pop(), Push({}), true);
  }
}

// Operations that say what the place is.
bool Evaluation::Finish(std::uint8_t operation) {
  switch (operation) {
    case DW_OP_regx:
      register_ = cursor_.Uleb();
      result_ = Result::kRegister;
      return true;
    case DW_OP_stack_value:
      result_ = Result::kValue;
      return true;
    case DW_OP_implicit_value:
      cursor_.Skip(cursor_.Uleb());
      result_ = Result::kNothing;
      return true;
    case DW_OP_implicit_pointer:
    case DW_OP_GNU_implicit_pointer:
      cursor_.Unsigned(addresses_.unit().widths.reference_bytes);
      cursor_.Sleb();
      result_ = Result::kNothing;
      return true;
    default:
      if (operation < DW_OP_reg0 || operation > DW_OP_reg31) return false;
      register_ = operation - DW_OP_reg0;
      result_ = Result::kRegister;
      return true;
  }
}

void Evaluation::Step(std::uint8_t operation, std::vector<ExpressionPlace>* places) {
  if (operation == DW_OP_piece) return EndPiece(cursor_.Uleb(), places);
  if (operation == DW_OP_bit_piece) {
    const std::uint64_t bits = cursor_.Uleb();
    const std::uint64_t skipped = cursor_.Uleb();
    if (bits % 8 != 0 || skipped != 0) throw Truncated();
    return EndPiece(bits / 8, places);
  }
  if (PushAddress(operation) || PushLiteral(operation) || Arithmetic(operation)) return;
  if (Compute(operation) || Finish(operation)) return;
  throw Truncated();  // computed in a way that no place describes
}

bool Evaluation::Place(ExpressionPlace& place) const {
  if (result_ == Result::kNothing) return false;
  if (result_ == Result::kRegister) {
    place.kind = PlaceKind::kRegister;
    place.reg = static_cast<std::uint8_t>(register_);
    return register_ < 0xff;
  }
  if (depth_ == 0) return false;
  const ExpressionValue& top = stack_[depth_ - 1];
  const bool value = result_ == Result::kValue;
  place.reg = top.reg;
  place.offset = top.offset;
  switch (top.base) {
    case ValueBase::kRegister:
      place.kind = value ? PlaceKind::kRegisterValue : PlaceKind::kMemory;
      return true;
    case ValueBase::kFrame:
      place.kind = value ? PlaceKind::kFrameValue : PlaceKind::kFrame;
      return true;
    case ValueBase::kEntry:
      place.kind = PlaceKind::kEntryValue;
      return value;
    case ValueBase::kAddress:
      place.kind = value ? PlaceKind::kGlobalValue : PlaceKind::kGlobal;
      return true;
    case ValueBase::kThread:
      place.kind = PlaceKind::kThreadLocal;
      return !value;
    default:
      return false;
  }
}

void Evaluation::EndPiece(std::uint64_t bytes, std::vector<ExpressionPlace>* places) {
  pieces_ = true;
  if (bytes > kLargestPiece || piece_offset_ > kLargestPiece) throw Truncated();
  ExpressionPlace place;
  if (bytes > 0 && places != nullptr && Place(place)) {
    place.piece_offset = static_cast<std::uint32_t>(piece_offset_);
    place.piece_bytes = static_cast<std::uint32_t>(bytes);
    places->push_back(place);
  }
  piece_offset_ += bytes;
  depth_ = 0;
  result_ = Result::kAddress;
}

void Evaluation::AppendPlaces(std::vector<ExpressionPlace>& places) {
  const std::size_t before = places.size();
  try {
    while (!cursor_.done()) Step(cursor_.U8(), &places);
  } catch (const Truncated&) {
    places.resize(before);
    return;
  }
  ExpressionPlace place;
  if (!pieces_ && Place(place)) places.push_back(place);
}

ExpressionValue Evaluation::Value() {
  try {
    while (!cursor_.done()) Step(cursor_.U8(), nullptr);
  } catch (const Truncated&) {
    return {};
  }
  if (result_ == Result::kRegister) return InRegister(register_, 0);
  return result_ == Result::kAddress && depth_ > 0 ? stack_[depth_ - 1] : ExpressionValue{};
}

}  // namespace

ExpressionValue ReadFrameBase(Bytes expression, const UnitAddresses& addresses) {
  return Evaluation(expression, addresses, {}).Value();
}

void ReadExpression(Bytes expression, const UnitAddresses& addresses, const ExpressionValue& frame_base,
                    std::vector<ExpressionPlace>& places) {
  Evaluation(expression, addresses, frame_base).AppendPlaces(places);
}

}  // namespace linesmith
