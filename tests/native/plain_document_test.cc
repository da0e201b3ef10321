// SPDX-License-Identifier: GPL-2.0-or-later
// MessagePack by hand: what the quick look accepts, and what it leaves to the reader of each value.
#include "plain_document.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace linesmith {
namespace {

using namespace std::string_view_literals;

TEST(PlainDocument, TakesNumbersOfEachLength) {
  EXPECT_TRUE(IsPlain("\x93\x00\x7f\xcc\xff"sv));
  EXPECT_TRUE(IsPlain("\xcd\xff\xff\xce\xff\xff\xff\xff"sv));
  EXPECT_TRUE(IsPlain("\xcf\xff\xff\xff\xff\xff\xff\xff\xff"sv));
}

TEST(PlainDocument, RefusesNumbersBelowZero) {
  EXPECT_FALSE(IsPlain("\xff"sv));
  EXPECT_FALSE(IsPlain("\xd0\xff"sv));
  EXPECT_FALSE(IsPlain("\xd3\xff\xff\xff\xff\xff\xff\xff\xff"sv));
  EXPECT_FALSE(IsPlain("\xcb\xbf\xf0\x00\x00\x00\x00\x00\x00"sv));  // -1.0
}

TEST(PlainDocument, RefusesFractionsThatAreNoCounts) {
  EXPECT_TRUE(IsPlain("\xcb\x3f\xe0\x00\x00\x00\x00\x00\x00"sv));   // 0.5
  EXPECT_TRUE(IsPlain("\xca\x3f\x00\x00\x00"sv));                   // 0.5
  EXPECT_FALSE(IsPlain("\xcb\x43\xf0\x00\x00\x00\x00\x00\x00"sv));  // 2^64
  EXPECT_FALSE(IsPlain("\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00"sv));  // not a number
}

TEST(PlainDocument, TakesPrintableTexts) {
  EXPECT_TRUE(IsPlain("\x81\xa4name\xa9_Z1fv ~!x"sv));
  EXPECT_TRUE(IsPlain("\xd9\x03pid\xda\x00\x03pid\xdb\x00\x00\x00\x03pid"sv));
  EXPECT_TRUE(IsPlain("\xc0\xc2\xc3\xdc\x00\x01\xde\x00\x01\xa0"sv));
}

TEST(PlainDocument, RefusesEachOtherCharacterAtEachPlace) {
  for (int character = 0; character < 256; ++character) {
    for (std::size_t place = 0; place < 19; ++place) {
      std::string text(19, '~');
      text[place] = static_cast<char>(character);
      EXPECT_EQ(IsPlain("\xb3" + text), character >= 0x20 && character < 0x7f)
          << character << " at " << place;
    }
  }
}

TEST(PlainDocument, RefusesWhatIsCutOff) {
  const std::string whole{"\xd9\x03pid\xcf\x01\x02\x03\x04\x05\x06\x07\x08\xdb\x00\x00\x00\x01x"sv};
  for (std::size_t size : {1, 2, 4, 6, 13, 15, 19}) EXPECT_FALSE(IsPlain(whole.substr(0, size))) << size;
  EXPECT_TRUE(IsPlain(whole));
}

TEST(PlainDocument, RefusesValuesThatNoProfileHas) {
  EXPECT_FALSE(IsPlain("\xc1"sv));
  EXPECT_FALSE(IsPlain("\xc4\x01x"sv));
  EXPECT_FALSE(IsPlain("\xd4\x00\x00"sv));
}

}  // namespace
}  // namespace linesmith
