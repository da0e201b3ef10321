// SPDX-License-Identifier: GPL-2.0-or-later
// BTF that breaks a rule: every break ends in one Error that names it.
#include <gtest/gtest.h>

#include "base/error.h"
#include "btf/btf.h"
#include "btf_builder.h"

namespace linesmith {
namespace {

// "KIND: MESSAGE" of the error that reading `blob` ends in.
std::string ErrorOf(const std::vector<std::uint8_t>& blob) {
  try {
    ReadBtfBlob("blob", blob);
  } catch (const Error& error) {
    return error.kind + ": " + error.what();
  }
  return "no error";
}

std::string Damaged(const std::string& problem) {
  return "DebugInfoDamaged: blob: the BTF is damaged: " + problem +
         "; fetch the file again or read its DWARF instead";
}

// A struct with one member of `type`, at `bit_offset` and with `bit_size` where that is not 0.
std::string ErrorOfMember(BtfBuilder& btf, std::uint32_t type, std::uint32_t bytes,
                          std::uint32_t bit_offset = 0, std::uint32_t bit_size = 0) {
  btf.Struct("s", bytes, {{"m", type, bit_offset, bit_size}});
  return ErrorOf(btf.Build());
}

TEST(BtfDamage, EveryCutIsAnError) {
  BtfBuilder btf;
  btf.Struct("s", 4, {{"m", btf.Int("int", 4), 0}});
  const std::vector<std::uint8_t> whole = btf.Build();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::vector<std::uint8_t> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_TRUE(ErrorOf(cut).starts_with("DebugInfoDamaged: "))
        << "cut at " << length << ": " << ErrorOf(cut);
  }
}

TEST(BtfDamage, OtherMagic) {
  EXPECT_EQ(ErrorOf(std::vector<std::uint8_t>(32, 0x41)),
            Damaged("it does not begin with the magic number 0xeb9f"));
}

TEST(BtfDamage, OtherVersion) {
  std::vector<std::uint8_t> blob = BtfBuilder().Build();
  blob[2] = 2;
  EXPECT_EQ(ErrorOf(blob), Damaged("it has version 2, only version 1 is known"));
}

TEST(BtfDamage, KindOfALaterFormat) {
  BtfBuilder btf;
  btf.Add(20, "future", 0);
  EXPECT_EQ(ErrorOf(btf.Build()),
            Damaged("type 1 at 0x0 is of kind 20, which is newer than this reader (it knows 1 to 19)"));
}

TEST(BtfDamage, StoredVoid) {
  BtfBuilder btf;
  btf.Add(0, "", 0);
  EXPECT_EQ(ErrorOf(btf.Build()), Damaged("type 1 at 0x0 is of kind 0, which no stored type may have"));
}

TEST(BtfDamage, MoreMembersThanBytes) {
  BtfBuilder btf;
  btf.Add(BtfBuilder::kStruct, "s", 4, 65535);
  EXPECT_EQ(ErrorOf(btf.Build()), Damaged("type 1 at 0x0 has 65535 entries, more than the section holds"));
}

TEST(BtfDamage, ReservedBits) {
  BtfBuilder btf;
  btf.Add(BtfBuilder::kStruct, "s", 4, 1U << 20);
  EXPECT_EQ(ErrorOf(btf.Build()), Damaged("type 1 at 0x0 sets reserved bits (info word 0x4100000)"));
}

TEST(BtfDamage, NameBehindTheStrings) {
  BtfBuilder btf;
  btf.Struct("s", 4, {});
  btf.strings().resize(1);
  EXPECT_EQ(ErrorOf(btf.Build()), Damaged("string offset 0x1 lies behind its strings, which end at 0x1"));
}

TEST(BtfDamage, StringsThatDoNotEnd) {
  BtfBuilder btf;
  btf.strings() += "open";
  EXPECT_EQ(ErrorOf(btf.Build()), Damaged("its last string does not end"));
}

TEST(BtfDamage, NameWithoutEnd) {
  BtfBuilder btf;
  btf.Struct(std::string(5000, 'n'), 4, {});
  EXPECT_EQ(ErrorOf(btf.Build()), Damaged("the name at string offset 0x1 is longer than 4096 bytes"));
}

TEST(BtfDamage, TypeThatIsNotThere) {
  BtfBuilder btf;
  EXPECT_EQ(ErrorOfMember(btf, 77, 4), Damaged("type 77 is referred to, but there are only 2"));
}

TEST(BtfDamage, TypedefOfItself) {
  BtfBuilder btf;
  EXPECT_EQ(ErrorOfMember(btf, btf.Refer(BtfBuilder::kTypedef, 1, "loop"), 4),
            Damaged("type 1 is defined by itself, or by a chain of more than 64 types"));
}

TEST(BtfDamage, PointerToItself) {
  BtfBuilder btf;
  EXPECT_EQ(ErrorOfMember(btf, btf.Refer(BtfBuilder::kPointer, 1), 8),
            Damaged("type 1 is defined by itself, or by a chain of more than 64 types"));
}

TEST(BtfDamage, ArrayOfItself) {
  BtfBuilder btf;
  EXPECT_EQ(ErrorOfMember(btf, btf.Array(1, 2), 8),
            Damaged("type 1 is an array of itself, or of more than 64 ranks"));
}

TEST(BtfDamage, StructThatContainsItself) {
  BtfBuilder btf;
  btf.Struct("s", 8, {{"inner", 1, 0}});
  EXPECT_EQ(ErrorOf(btf.Build()), Damaged("type 1 contains itself, or records nested more than 128 deep"));
}

TEST(BtfDamage, FunctionThatTakesItself) {
  BtfBuilder btf;
  EXPECT_EQ(ErrorOfMember(btf, btf.Refer(BtfBuilder::kPointer, btf.Function(0, {2})), 8),
            Damaged("functions take functions more than 16 deep"));
}

// Each function takes the one before twice: 2 to the power of 14 parameters in one declarator, and many of
// those.
TEST(BtfDamage, TextThatDoublesWithEveryType) {
  BtfBuilder btf;
  std::uint32_t pointer = btf.Refer(BtfBuilder::kPointer, 0);
  for (int depth = 0; depth < 14; ++depth) {
    pointer = btf.Refer(BtfBuilder::kPointer, btf.Function(0, {pointer, pointer}));
  }
  for (int copy = 0; copy < 200; ++copy) btf.Struct("s", 8, {{"m", pointer, 0}});
  EXPECT_EQ(ErrorOf(btf.Build()), Damaged("its types would take more text than any real kernel's"));
}

TEST(BtfDamage, MemberBehindTheEnd) {
  BtfBuilder btf;
  EXPECT_EQ(ErrorOfMember(btf, btf.Int("int", 4), 4, 8),
            Damaged("member \"m\" of \"s\" does not fit into the record's 4 bytes"));
}

TEST(BtfDamage, BitFieldBehindTheEnd) {
  BtfBuilder btf;
  EXPECT_EQ(ErrorOfMember(btf, btf.Int("int", 4), 4, 31, 2),
            Damaged("member \"m\" of \"s\" does not fit into the record's 4 bytes"));
}

TEST(BtfDamage, BitFieldWiderThanItsType) {
  BtfBuilder btf;
  EXPECT_EQ(ErrorOfMember(btf, btf.Int("char", 1), 4, 0, 9),
            Damaged("bit-field \"m\" has 9 bits, more than its type"));
}

TEST(BtfDamage, PlainMemberInsideAByte) {
  BtfBuilder btf;
  EXPECT_EQ(ErrorOfMember(btf, btf.Int("int", 4), 8, 3),
            Damaged("member \"m\" is no bit-field, but begins inside a byte"));
}

TEST(BtfDamage, ArrayLargerThanMemory) {
  BtfBuilder btf;
  std::uint32_t array = btf.Int("int", 4);
  for (int rank = 0; rank < 3; ++rank) array = btf.Array(array, 0xffffffff);
  EXPECT_EQ(ErrorOfMember(btf, array, 8), Damaged("type 4 is larger than any memory"));
}

TEST(BtfDamage, VariableAsAMember) {
  BtfBuilder btf;
  EXPECT_EQ(ErrorOfMember(btf, btf.Add(BtfBuilder::kVariable, "v", 0, 0, {0}), 4),
            Damaged("a member or parameter is of kind 14, which is no C type"));
}

TEST(BtfDamage, SplitBlobWithoutItsBase) {
  BtfBuilder module(100, 100);
  module.Struct("driver", 0, {});
  EXPECT_EQ(
      ErrorOf(module.Build()),
      "DebugInfoMissing: blob: this BTF is split (a kernel module's) and means nothing without that of its "
      "kernel; read the module's DWARF, or the kernel's own BTF");
}

}  // namespace
}  // namespace linesmith
