// SPDX-License-Identifier: GPL-2.0-or-later
#include "btf/btf_spelling.h"

#include <vector>

namespace linesmith {
namespace {

// Linux stops at 32 steps (MAX_RESOLVE_DEPTH) between a name and what it stands for.
constexpr int kLongestChain = 64;
constexpr int kDeepestFunction = 16;
constexpr std::size_t kLongestList = 2000;  // characters of the enumerators of an anonymous enum
// The BTF of real kernels needs less than 4 characters per byte.
constexpr std::uint64_t kCharactersPerByte = 64;
constexpr std::uint64_t kFreeCharacters = 1 << 20;

std::string_view QualifierOf(BtfKind kind) {
  switch (kind) {
    case BtfKind::kConst:
      return "const";
    case BtfKind::kVolatile:
      return "volatile";
    case BtfKind::kRestrict:
      return "restrict";
    default:
      return {};
  }
}

bool IsModifier(BtfKind kind) { return kind == BtfKind::kTypeTag || !QualifierOf(kind).empty(); }

[[noreturn]] void ThrowEndless(const BtfTypes& types, BtfTypeId id) {
  types.ThrowDamaged("type " + std::to_string(id) + " is defined by itself, or by a chain of more than " +
                     std::to_string(kLongestChain) + " types");
}

}  // namespace

BtfTypeId UnqualifiedBtfType(const BtfTypes& types, BtfTypeId id) {
  BtfTypeId step = id;
  for (int steps = 0; steps < kLongestChain; ++steps) {
    const BtfType& type = types.At(step);
    if (!IsModifier(type.kind) && type.kind != BtfKind::kTypedef) return step;
    step = type.size_or_type;
  }
  ThrowEndless(types, id);
}

BtfTypeId InnermostBtfTypedef(const BtfTypes& types, BtfTypeId id) {
  BtfTypeId last = 0;
  BtfTypeId step = id;
  for (int steps = 0; steps < kLongestChain; ++steps) {
    const BtfType& type = types.At(step);
    const bool array = type.kind == BtfKind::kArray;
    if (!array && !IsModifier(type.kind) && type.kind != BtfKind::kTypedef) return last;
    if (type.kind == BtfKind::kTypedef) last = step;
    if (array) last = 0;
    step = array ? types.ArrayOf(type).element : type.size_or_type;
  }
  ThrowEndless(types, id);
}

BtfSpeller::BtfSpeller(const BtfTypes& types)
    : types_(types), characters_left_(kFreeCharacters + kCharactersPerByte * types.bytes_in_all()) {
  for (BtfTypeId id = 1; id < types.count(); ++id) {
    const BtfType& type = types.At(id);
    if (type.kind != BtfKind::kTypedef) continue;
    const BtfTypeId record = UnqualifiedBtfType(types, id);
    const BtfType& target = types_.At(record);
    const bool direct = InnermostBtfTypedef(types, id) == id;
    if (IsRecord(target.kind) && target.name.empty() && direct) typedefs_[record].push_back(id);
  }
}

std::span<const BtfTypeId> BtfSpeller::TypedefsOf(BtfTypeId record) const {
  const auto found = typedefs_.find(record);
  return found == typedefs_.end() ? std::span<const BtfTypeId>{} : found->second;
}

std::string_view BtfSpeller::NameOf(BtfTypeId record, BtfTypeId alias) const {
  const std::string_view name = types_.At(record).name;
  return name.empty() && alias != 0 ? types_.At(alias).name : name;
}

Columns BtfSpeller::Spell(std::string_view name, BtfTypeId id, bool flexible) {
  return SpellNested(name, id, flexible, 0);
}

Columns BtfSpeller::SpellNested(std::string_view name, BtfTypeId id, bool flexible, int depth) {
  if (depth > kDeepestFunction) types_.ThrowDamaged("functions take functions more than 16 deep");
  Declarator declarator(name);
  BtfTypeId step = id;
  for (int steps = 0; steps < kLongestChain; ++steps) {
    const BtfType& type = types_.At(step);
    step = type.size_or_type;
    if (type.kind == BtfKind::kPointer) {
      declarator.AddPointer();
    } else if (type.kind == BtfKind::kArray) {
      const BtfArray array = types_.ArrayOf(type);
      declarator.AddArray({array.count}, flexible);
      flexible = false;
      step = array.element;
    } else if (type.kind == BtfKind::kFunctionPrototype) {
      declarator.AddFunction(Parameters(type, depth + 1));
    } else if (!IsModifier(type.kind)) {
      const Columns columns = declarator.Finish(Specifier(type));
      Spend(columns);
      return columns;
    } else if (type.kind != BtfKind::kTypeTag) {
      declarator.AddQualifier(QualifierOf(type.kind));
    }
  }
  ThrowEndless(types_, id);
}

// A list of `...` alone is a function without prototype; it reads as `void`, as in pahole.
std::string BtfSpeller::Parameters(const BtfType& function, int depth) {
  std::string text;
  if (function.entries == 1 && types_.ParameterOf(function, 0) == 0) return "void";
  for (std::uint32_t position = 0; position < function.entries; ++position) {
    const BtfTypeId parameter = types_.ParameterOf(function, position);
    const bool variadic = parameter == 0 && position + 1 == function.entries;
    if (position > 0) text += ", ";
    text += variadic ? "..." : Join(SpellNested("", parameter, false, depth));
  }
  return text.empty() ? "void" : text;
}

std::string BtfSpeller::Specifier(const BtfType& type) const {
  const std::string name(type.name);
  const auto tagged = [&name](std::string word) { return name.empty() ? word : word + " " + name; };
  switch (type.kind) {
    case BtfKind::kVoid:
      return "void";
    case BtfKind::kStruct:
      return tagged("struct");
    case BtfKind::kUnion:
      return tagged("union");
    case BtfKind::kForward:
      return tagged(type.kind_flag ? "union" : "struct");
    case BtfKind::kEnum:
    case BtfKind::kEnum64:
      return name.empty() ? "enum {" + Enumerators(type) + "}" : tagged("enum");
    case BtfKind::kInt:
    case BtfKind::kFloat:
    case BtfKind::kTypedef:
      return name;
    default:
      types_.ThrowDamaged("a member or parameter is of kind " + std::to_string(static_cast<int>(type.kind)) +
                          ", which is no C type");
  }
}

std::string BtfSpeller::Enumerators(const BtfType& enumeration) const {
  std::string text;
  for (std::uint32_t position = 0; position < enumeration.entries; ++position) {
    const BtfEnumerator enumerator = types_.EnumeratorOf(enumeration, position);
    if (position > 0) text += ", ";
    if (text.size() > kLongestList) return text + "...";
    text.append(enumerator.name).append(" = ").append(std::to_string(enumerator.value));
  }
  return text;
}

void BtfSpeller::Spend(const Columns& columns) {
  const std::uint64_t characters = columns.type.size() + columns.declarator.size() + 1;
  if (characters > characters_left_)
    types_.ThrowDamaged("its types would take more text than any real kernel's");
  characters_left_ -= characters;
}

}  // namespace linesmith
