// SPDX-License-Identifier: GPL-2.0-or-later
#include "btf.h"

#include <cstring>
#include <memory>
#include <utility>

#include "btf_records.h"
#include "btf_types.h"
#include "error.h"

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

}  // namespace linesmith
