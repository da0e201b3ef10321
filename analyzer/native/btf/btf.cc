// SPDX-License-Identifier: GPL-2.0-or-later

#include "btf/btf.h"

#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "btf/btf_facts.h"
#include "btf/btf_spelling.h"
#include "btf/btf_types.h"

namespace linesmith {
namespace {

// A blob and what keeps its bytes alive.
struct BtfSource {
  std::string place;
  Bytes bytes;
  Bytes own_base;  // the module's `.BTF.base`; empty for none
  std::shared_ptr<const void> owner;
};

BtfSource OpenElf(const std::string& path) {
  auto file = std::make_shared<ElfFile>(ElfFile::Open(path));
  if (file->Find(".BTF") == nullptr) {
    throw Error(
        "DebugInfoMissing",
        path + ": the file has no .BTF section; build it with CONFIG_DEBUG_INFO_BTF=y, or with pahole -J");
  }
  return {path + " (.BTF)", file->Section(".BTF"), file->Section(".BTF.base"), file};
}

BtfSource Open(const std::string& path) {
  auto file = std::make_shared<MappedFile>(path);
  if (IsRawBtf(file->bytes())) return {path, file->bytes(), {}, file};
  return OpenElf(path);
}

std::shared_ptr<const BtfTypes> BaseOf(const BtfSource& source, const BtfSource* named) {
  if (!source.own_base.empty()) {
    return std::make_shared<const BtfTypes>(source.place + ".base", source.own_base, nullptr);
  }
  if (named == nullptr) return nullptr;
  return std::make_shared<const BtfTypes>(named->place, named->bytes, nullptr);
}

}  // namespace

bool IsRawBtf(Bytes head) {
  if (head.size() < 2) return false;
  return (head[0] == 0x9f && head[1] == 0xeb) || (head[0] == 0xeb && head[1] == 0x9f);
}

std::vector<Record> ReadBtf(const std::string& path, const std::string& base_path) {
  const BtfSource source = Open(path);
  BtfSource named;
  if (!base_path.empty()) named = Open(base_path);
  const auto base = BaseOf(source, base_path.empty() ? nullptr : &named);
  return RecordsOf(BtfTypes(source.place, source.bytes, base));
}

std::vector<Record> ReadBtfBlob(const std::string& place, Bytes blob) {
  return RecordsOf(BtfTypes(place, blob, nullptr));
}

namespace {

// Steps between a pointer and its record; a chain that goes in circles has none.
constexpr int kLongestAim = 64;

// Whether a pointer to this kind can still lead to a record.
bool RefersOn(BtfKind kind) {
  switch (kind) {
    case BtfKind::kPointer:
    case BtfKind::kArray:
    case BtfKind::kTypedef:
    case BtfKind::kVolatile:
    case BtfKind::kConst:
    case BtfKind::kRestrict:
    case BtfKind::kTypeTag:
      return true;
    default:
      return false;
  }
}

class RecordBuilder {
 public:
  explicit RecordBuilder(const BtfTypes& types) : types_(types), speller_(types), facts_(types) {}

  std::vector<Record> BuildAll();

 private:
  // A record under one of its names: `alias` is the typedef that gives it, 0 when it has its own or none.
  struct Listed {
    BtfTypeId record = 0;
    BtfTypeId alias = 0;
    auto operator<=>(const Listed&) const = default;
  };

  void EnlistOwn(BtfTypeId id);
  std::uint32_t Enlist(BtfTypeId record, BtfTypeId alias);
  Record Build(const Listed& listed);
  Member BuildMember(const BtfType& record, std::uint32_t position);
  void Place(const BtfMember& source, Member& member) const;
  void Classify(BtfTypeId declared, BtfTypeId element, Member& member);
  void AimPointer(const BtfType& pointer, Member& member) const;
  void CheckInside(const Record& record, const Member& member) const;

  const BtfTypes& types_;
  BtfSpeller speller_;
  BtfFacts facts_;
  std::vector<Listed> listed_;
  std::map<Listed, std::uint32_t> numbers_;
};

std::vector<Record> RecordBuilder::BuildAll() {
  for (BtfTypeId id = types_.first_own_id(); id < types_.count(); ++id) EnlistOwn(id);
  std::vector<Record> records;
  records.reserve(listed_.size());
  while (records.size() < listed_.size()) records.push_back(Build(Listed(listed_[records.size()])));
  return records;
}

void RecordBuilder::EnlistOwn(BtfTypeId id) {
  if (!IsRecord(types_.At(id).kind)) return;
  const std::span<const BtfTypeId> aliases = speller_.TypedefsOf(id);
  if (aliases.empty()) Enlist(id, 0);
  for (const BtfTypeId alias : aliases) Enlist(id, alias);
}

std::uint32_t RecordBuilder::Enlist(BtfTypeId record, BtfTypeId alias) {
  if (!types_.At(record).name.empty()) alias = 0;
  const auto [place, fresh] =
      numbers_.try_emplace({record, alias}, static_cast<std::uint32_t>(listed_.size()));
  if (fresh) listed_.push_back({record, alias});
  return place->second;
}

Record RecordBuilder::Build(const Listed& listed) {
  const BtfType& type = types_.At(listed.record);
  Record record;
  record.name = speller_.NameOf(listed.record, listed.alias);
  record.kind = type.kind == BtfKind::kUnion ? RecordKind::kUnion : RecordKind::kStruct;
  record.size = type.size_or_type;
  record.natural_alignment = facts_.NaturalAlignmentOfRecord(listed.record);
  record.is_typedef = listed.alias != 0;
  record.members.reserve(type.entries);
  for (std::uint32_t position = 0; position < type.entries; ++position) {
    record.members.push_back(BuildMember(type, position));
    CheckInside(record, record.members.back());
  }
  return record;
}

// C allows a flexible array only behind other members, and BTF writes it as one of no elements.
Member RecordBuilder::BuildMember(const BtfType& record, std::uint32_t position) {
  const BtfMember source = types_.MemberOf(record, position);
  BtfElement element = ElementOf(types_, source.type);
  Member member;
  member.name = source.name;
  const bool behind_others =
      position > 0 && position + 1 == record.entries && record.kind == BtfKind::kStruct;
  member.flexible = behind_others && !element.dimensions.empty() && element.dimensions.front() == 0;
  member.dimensions = std::move(element.dimensions);
  Columns columns = speller_.Spell(source.name, source.type, member.flexible);
  member.type = std::move(columns.type);
  member.declarator = std::move(columns.declarator);
  member.size = facts_.SizeOf(source.type);
  member.natural_alignment = facts_.AlignmentOf(source.type);
  Place(source, member);
  Classify(source.type, element.element, member);
  return member;
}

// The storage unit of a bit-field is the aligned one that holds its first bit, as pahole shows it.
void RecordBuilder::Place(const BtfMember& source, Member& member) const {
  if (const auto bits = BitFieldOf(types_, source)) {
    if (member.size == 0 || bits->size > member.size * 8) {
      types_.ThrowDamaged("bit-field \"" + member.name + "\" has " + std::to_string(bits->size) +
                          " bits, more than its type");
    }
    member.bit_offset = bits->offset;
    member.bit_size = bits->size;
    member.offset = bits->offset / (member.size * 8) * member.size;
    return;
  }
  if (source.bit_offset % 8 != 0) {
    types_.ThrowDamaged("member \"" + member.name + "\" is no bit-field, but begins inside a byte");
  }
  member.offset = source.bit_offset / 8;
}

void RecordBuilder::Classify(BtfTypeId declared, BtfTypeId element, Member& member) {
  const BtfType& type = types_.At(element);
  switch (type.kind) {
    case BtfKind::kFloat:
      member.category = MemberCategory::kFloat;
      break;
    case BtfKind::kEnum:
    case BtfKind::kEnum64:
      member.category = MemberCategory::kEnum;
      break;
    case BtfKind::kStruct:
    case BtfKind::kUnion:
      member.category = MemberCategory::kRecord;
      member.record = Enlist(element, InnermostBtfTypedef(types_, declared));
      break;
    case BtfKind::kPointer:
      AimPointer(type, member);
      break;
    case BtfKind::kInt:
      member.category = MemberCategory::kScalar;
      break;
    default:
      member.category = MemberCategory::kUnknown;
  }
}

// The record behind all pointers and arrays; whether it may be written tells the const before it, not that of
// a pointer.
void RecordBuilder::AimPointer(const BtfType& pointer, Member& member) const {
  const BtfKind pointee = types_.At(UnqualifiedBtfType(types_, pointer.size_or_type)).kind;
  const bool function = pointee == BtfKind::kFunctionPrototype;
  member.category = function ? MemberCategory::kFunctionPointer : MemberCategory::kPointer;
  bool read_only = false;
  BtfTypeId alias = 0;
  BtfTypeId step = pointer.size_or_type;
  for (int steps = 0; steps < kLongestAim; ++steps) {
    const BtfType& type = types_.At(step);
    if (IsRecord(type.kind) || type.kind == BtfKind::kForward) {
      member.target = IsRecord(type.kind) ? speller_.NameOf(step, alias) : type.name;
      member.read_only_target = read_only && !member.target.empty();
      return;
    }
    if (!RefersOn(type.kind)) return;
    if (type.kind == BtfKind::kTypedef) alias = step;
    read_only = type.kind == BtfKind::kConst || (read_only && type.kind != BtfKind::kPointer);
    step = type.kind == BtfKind::kArray ? types_.ArrayOf(type).element : type.size_or_type;
  }
}

void RecordBuilder::CheckInside(const Record& record, const Member& member) const {
  const std::uint64_t room = record.size * 8;
  const std::uint64_t first = member.bit_offset.value_or(member.offset * 8);
  const std::uint64_t bits = member.bit_size.value_or(0);
  const bool inside =
      member.bit_size ? first + bits <= room : first <= room && member.size <= room / 8 - first / 8;
  if (inside) return;
  types_.ThrowDamaged("member \"" + member.name + "\" of \"" + record.name +
                      "\" does not fit into the record's " + std::to_string(record.size) + " bytes");
}

}  // namespace

std::vector<Record> RecordsOf(const BtfTypes& types) { return RecordBuilder(types).BuildAll(); }

}  // namespace linesmith
