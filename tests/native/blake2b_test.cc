// SPDX-License-Identifier: GPL-2.0-or-later
// Known answers of BLAKE2b with digests of 8 bytes, as Python's hashlib gives them.
#include "base/blake2b.h"

#include <gtest/gtest.h>

#include <string>

namespace linesmith {
namespace {

std::string HexDigest(std::string_view text) {
  Blake2b hash;
  hash.Add(text);
  std::string hex;
  for (const char byte : hash.Finish()) {
    hex += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
    hex += "0123456789abcdef"[static_cast<unsigned char>(byte) & 15];
  }
  return hex;
}

TEST(Blake2b, HashesNothing) { EXPECT_EQ(HexDigest(""), "e4a6a0577479b2b4"); }

TEST(Blake2b, HashesLessThanABlock) { EXPECT_EQ(HexDigest("abc"), "d8bb14d833d59559"); }

TEST(Blake2b, HashesOneBlock) { EXPECT_EQ(HexDigest(std::string(128, 'x')), "901ce374e8e12402"); }

TEST(Blake2b, HashesSeveralBlocks) { EXPECT_EQ(HexDigest(std::string(1000, 'x')), "9a306b894c158617"); }

TEST(Blake2b, DoesNotSeeWhereItsInputIsCut) {
  Blake2b whole;
  whole.Add(std::string(300, 'x'));
  Blake2b parts;
  for (int i = 0; i < 100; ++i) parts.Add("xxx");
  EXPECT_EQ(whole.Finish(), parts.Finish());
}

}  // namespace
}  // namespace linesmith
