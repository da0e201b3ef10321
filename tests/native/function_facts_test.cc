// SPDX-License-Identifier: GPL-2.0-or-later
// Functions, inlined code and variables out of DWARF that no compiler writes in this form, or in one oddity
// only.
#include "program/function_facts.h"

#include <gtest/gtest.h>

#include "dwarf_builder.h"
#include "program/unit_summary.h"

namespace linesmith {
namespace {

const std::vector<std::uint8_t> kInRegister{DW_OP_reg5};

std::vector<std::uint8_t> AtAddress(std::uint64_t address) {
  return ByteWriter().U8(DW_OP_addr).U64(address).bytes();
}

TEST(FunctionFacts, VariableWithoutAListIsThereInItsWholeScope) {
  DwarfBuilder builder;
  const auto integer = builder.Int();
  builder.Function("f", 0x1000, 0x100);
  builder.Variable("v", integer, Expression(kInRegister));
  builder.Open(DW_TAG_lexical_block, {Address(DW_AT_low_pc, 0x1010), Amount(DW_AT_high_pc, 0x10)});
  builder.Variable("w", integer, Expression({DW_OP_fbreg, 0x68}));
  builder.Close();
  builder.Close();
  ReadFile file(builder);
  const UnitFacts facts = file.facts();
  ASSERT_EQ(facts.functions.size(), 1u);
  const std::vector<VariablePlace>& places = facts.functions[0].places;
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].range.high, 0x1100u);
  EXPECT_EQ(places[1].range.low, 0x1010u);
  EXPECT_EQ(places[1].range.high, 0x1020u);
  EXPECT_EQ(places[1].kind, PlaceKind::kFrame);
  EXPECT_EQ(places[1].offset, -24);
}

TEST(FunctionFacts, BlockWithoutARangeHasThatOfItsFunction) {
  DwarfBuilder builder;
  const auto integer = builder.Int();
  builder.Function("f", 0x1000, 0x100);
  builder.Open(DW_TAG_lexical_block, {});
  builder.Variable("v", integer, Expression(kInRegister));
  builder.Close();
  builder.Close();
  ReadFile file(builder);
  EXPECT_EQ(file.facts().functions.at(0).places.at(0).range.high, 0x1100u);
}

TEST(FunctionFacts, PlacesAreSortedByTheirBeginning) {
  DwarfBuilder builder;
  ByteWriter list;
  list.U8(DW_LLE_start_length).U64(0x1040).Uleb(8).Counted(kInRegister);
  list.U8(DW_LLE_start_length).U64(0x1000).Uleb(8).Counted(kInRegister).U8(0);
  builder.Section(".debug_loclists", list.bytes());
  const auto integer = builder.Int();
  builder.Function("f", 0x1000, 0x100);
  builder.Variable("v", integer, Offset(DW_AT_location, 0));
  builder.Close();
  ReadFile file(builder);
  const FunctionFacts function = file.facts().functions.at(0);
  ASSERT_EQ(function.places.size(), 2u);
  EXPECT_EQ(function.places[0].range.low, 0x1000u);
  EXPECT_EQ(function.places[1].range.low, 0x1040u);
}

TEST(FunctionFacts, DefaultLocationFillsTheGaps) {
  DwarfBuilder builder;
  ByteWriter list;
  list.U8(DW_LLE_start_length).U64(0x1000).Uleb(0x40).Counted({DW_OP_reg0});
  list.U8(DW_LLE_default_location).Counted({DW_OP_reg3}).U8(0);
  builder.Section(".debug_loclists", list.bytes());
  const auto integer = builder.Int();
  builder.Function("f", 0x1000, 0x100);
  builder.Variable("v", integer, Offset(DW_AT_location, 0));
  builder.Close();
  ReadFile file(builder);
  const FunctionFacts function = file.facts().functions.at(0);
  ASSERT_EQ(function.places.size(), 2u);
  EXPECT_EQ(function.places[1].reg, 3);
  EXPECT_EQ(function.places[1].range.low, 0x1040u);
  EXPECT_EQ(function.places[1].range.high, 0x1100u);
}

TEST(FunctionFacts, VectorRegistersAreNoPlaces) {
  DwarfBuilder builder;
  const auto integer = builder.Int();
  builder.Function("f", 0x1000, 0x100);
  builder.Variable("v", integer, Expression({DW_OP_regx, 67}));
  builder.Close();
  ReadFile file(builder);
  EXPECT_TRUE(file.facts().functions.at(0).places.empty());
}

// An abstract function with one parameter, inlined twice, the second time inside the first.
struct Inlining {
  DwarfBuilder builder;
  std::uint64_t integer = builder.Int();

  Inlining() {
    const auto abstract = builder.Open(DW_TAG_subprogram, {Name("callee"), Reference(DW_AT_type, integer),
                                                           Amount(DW_AT_inline, DW_INL_inlined)});
    const auto parameter =
        builder.Die(DW_TAG_formal_parameter, {Name("argument"), Reference(DW_AT_type, integer)});
    builder.Close();
    builder.Function("caller", 0x1000, 0x100);
    for (const std::uint64_t low : {0x1010, 0x1018}) {
      builder.Open(
          DW_TAG_inlined_subroutine,
          {Reference(DW_AT_abstract_origin, abstract), Address(DW_AT_low_pc, low), Amount(DW_AT_high_pc, 8),
           Amount(DW_AT_call_file, 2), Amount(DW_AT_call_line, low & 0xff)});
      builder.Die(DW_TAG_formal_parameter,
                  {Reference(DW_AT_abstract_origin, parameter), Expression(kInRegister)});
    }
    builder.Close();
    builder.Close();
    builder.Close();
  }
};

TEST(FunctionFacts, InlinedCodeKnowsItsNameCallAndParent) {
  Inlining inlining;
  ReadFile file(inlining.builder);
  const UnitFacts facts = file.facts();
  ASSERT_EQ(facts.functions.size(), 1u);
  const std::vector<InlinedCall>& inlined = facts.functions[0].inlined;
  ASSERT_EQ(inlined.size(), 2u);
  EXPECT_EQ(inlined[0].name, "callee");
  EXPECT_EQ(inlined[0].parent, -1);
  EXPECT_EQ(inlined[1].parent, 0);
  EXPECT_EQ(inlined[1].call_file, 2u);
  EXPECT_EQ(inlined[1].call_line, 0x18u);
  EXPECT_EQ(file.graph[inlined[0].result].name, "int");
}

TEST(FunctionFacts, VariablesOfInlinedCodeTakeTypeAndDepthFromThere) {
  Inlining inlining;
  ReadFile file(inlining.builder);
  const FunctionFacts function = file.facts().functions.at(0);
  ASSERT_EQ(function.places.size(), 2u);
  EXPECT_EQ(file.graph[function.places[0].type].name, "int");
  EXPECT_EQ(function.places[0].inline_depth, 1u);
  EXPECT_EQ(function.places[1].inline_depth, 2u);
  EXPECT_TRUE(function.parameters.empty());
}

TEST(FunctionFacts, OutOfLineCopyTakesNameAndTypesFromItsOrigin) {
  DwarfBuilder builder;
  const auto integer = builder.Int();
  const auto abstract = builder.Open(DW_TAG_subprogram, {Name("callee"), Reference(DW_AT_type, integer)});
  const auto parameter =
      builder.Die(DW_TAG_formal_parameter, {Name("argument"), Reference(DW_AT_type, integer)});
  builder.Close();
  builder.Open(DW_TAG_subprogram, {Reference(DW_AT_abstract_origin, abstract), Address(DW_AT_low_pc, 0x1000),
                                   Amount(DW_AT_high_pc, 8)});
  builder.Die(DW_TAG_formal_parameter, {Reference(DW_AT_abstract_origin, parameter)});
  builder.Close();
  ReadFile file(builder);
  const FunctionFacts function = file.facts().functions.at(0);
  EXPECT_EQ(function.name, "callee");
  EXPECT_EQ(file.graph[function.result].name, "int");
  ASSERT_EQ(function.parameters.size(), 1u);
  EXPECT_EQ(file.graph[function.parameters[0]].name, "int");
}

TEST(FunctionFacts, OriginThatIsItsOwnOriginHasNoName) {
  DwarfBuilder builder;
  builder.Open(DW_TAG_subprogram, {Reference(DW_AT_abstract_origin, builder.here()),
                                   Address(DW_AT_low_pc, 0x1000), Amount(DW_AT_high_pc, 8)});
  builder.Close();
  ReadFile file(builder);
  EXPECT_EQ(file.facts().functions.at(0).name, "");
}

TEST(FunctionFacts, GlobalTakesItsNameFromTheDeclaration) {
  DwarfBuilder builder;
  const auto integer = builder.Int();
  const auto declaration = builder.Die(
      DW_TAG_variable, {Name("jiffies"), Reference(DW_AT_type, integer), Flag(DW_AT_declaration)});
  builder.Die(DW_TAG_variable, {Reference(DW_AT_specification, declaration), Expression(AtAddress(0x4000))});
  ReadFile file(builder);
  const UnitFacts facts = file.facts();
  ASSERT_EQ(facts.globals.size(), 1u);
  EXPECT_EQ(facts.globals[0].name, "jiffies");
  EXPECT_EQ(facts.globals[0].address, 0x4000u);
  EXPECT_EQ(file.graph[facts.globals[0].type].name, "int");
}

TEST(FunctionFacts, StaticVariablesOfInlineFunctionsAreGlobals) {
  DwarfBuilder builder;
  const auto integer = builder.Int();
  builder.Open(DW_TAG_subprogram, {Name("callee"), Amount(DW_AT_inline, DW_INL_inlined)});
  builder.Open(DW_TAG_lexical_block, {});
  builder.Variable("warned", integer, Expression(AtAddress(0x4000)));
  builder.Close();
  builder.Close();
  ReadFile file(builder);
  const UnitFacts facts = file.facts();
  ASSERT_EQ(facts.globals.size(), 1u);
  EXPECT_EQ(facts.globals[0].name, "warned");
  EXPECT_TRUE(facts.functions.empty());
}

TEST(FunctionFacts, StaticVariableOfAFunctionIsNoPlace) {
  DwarfBuilder builder;
  const auto integer = builder.Int();
  builder.Function("f", 0x1000, 0x100);
  builder.Variable("count", integer, Expression(AtAddress(0x4000)));
  builder.Close();
  ReadFile file(builder);
  const UnitFacts facts = file.facts();
  EXPECT_EQ(facts.globals.size(), 1u);
  EXPECT_TRUE(facts.functions.at(0).places.empty());
}

TEST(FunctionFacts, ThreadLocalGlobalIsAnOffset) {
  DwarfBuilder builder;
  const auto integer = builder.Int();
  builder.Variable("errno", integer, Expression({DW_OP_const4u, 0x10, 0, 0, 0, DW_OP_form_tls_address}));
  ReadFile file(builder);
  const UnitFacts facts = file.facts();
  ASSERT_EQ(facts.globals.size(), 1u);
  EXPECT_TRUE(facts.globals[0].thread_local_storage);
  EXPECT_EQ(facts.globals[0].address, 0x10u);
}

TEST(FunctionFacts, NestedFunctionIsAFunctionOfItsOwn) {
  DwarfBuilder builder;
  const auto integer = builder.Int();
  builder.Function("outer", 0x1000, 0x100);
  builder.Function("inner", 0x2000, 0x100);
  builder.Variable("v", integer, Expression(kInRegister));
  builder.Close();
  builder.Variable("w", integer, Expression(kInRegister));
  builder.Close();
  ReadFile file(builder);
  const UnitFacts facts = file.facts();
  ASSERT_EQ(facts.functions.size(), 2u);
  EXPECT_EQ(facts.functions[0].places.at(0).range.low, 0x1000u);
  EXPECT_EQ(facts.functions[1].places.at(0).range.low, 0x2000u);
}

TEST(FunctionFacts, DamagedFunctionCostsItselfOnly) {
  DwarfBuilder builder;
  const auto integer = builder.Int();
  builder.Function("before", 0x1000, 0x10);
  builder.Close();
  // The block of the variable ends behind the unit; the sibling says where the next function begins.
  const std::uint64_t sibling = builder.here() + 21 + 22;
  builder.Open(DW_TAG_subprogram, {Reference(DW_AT_sibling, sibling), Name("broken"),
                                   Address(DW_AT_low_pc, 0x2000), Amount(DW_AT_high_pc, 0x10)});
  builder.Die(DW_TAG_variable, {{DW_AT_location, DW_FORM_block4, ByteWriter().U32(1 << 30).bytes()}});
  while (builder.here() < sibling) builder.Close();
  builder.Function("behind", 0x3000, 0x10);
  builder.Variable("v", integer, Expression(kInRegister));
  builder.Close();
  ReadFile file(builder);
  const UnitFacts facts = file.facts();
  ASSERT_EQ(facts.functions.size(), 2u);
  EXPECT_EQ(facts.functions[0].name, "before");
  EXPECT_EQ(facts.functions[1].name, "behind");
  EXPECT_EQ(facts.functions[1].places.size(), 1u);
}

TEST(FunctionFacts, DamagedUnitKeepsWhatWasReadBefore) {
  DwarfBuilder builder;
  builder.Function("before", 0x1000, 0x10);
  builder.Close();
  builder.Die(DW_TAG_variable, {{DW_AT_location, DW_FORM_block4, ByteWriter().U32(1 << 30).bytes()}});
  ReadFile file(builder);
  EXPECT_EQ(file.facts().functions.size(), 1u);
}

TEST(FunctionFacts, UnitWithoutARootHasNone) {
  // A unit of nothing but the entry that ends a list.
  const std::vector<std::uint8_t> info =
      ByteWriter().U32(9).U16(5).U8(DW_UT_compile).U8(8).U32(0).U8(0).bytes();
  ReadFile file(ElfImage({{".debug_info", info}, {".debug_abbrev", {0}}}));
  EXPECT_TRUE(file.facts().functions.empty());
  EXPECT_TRUE(ReadUnitSummary(file.unit(), file.pool).functions.empty());
}

TEST(FunctionFacts, BlocksNestedWithoutEndAreDamage) {
  DwarfBuilder builder;
  builder.Function("deep", 0x1000, 0x10);
  for (int i = 0; i < 5'000; ++i) builder.Open(DW_TAG_lexical_block, {});
  ReadFile file(builder);
  EXPECT_LE(file.facts().functions.size(), 1u);
}

TEST(FunctionFacts, OneListForManyVariablesDoesNotExhaustMemory) {
  ByteWriter list;
  for (int i = 0; i < 50'000; ++i) list.U8(DW_LLE_offset_pair).Uleb(i).Uleb(i + 1).Counted(kInRegister);
  DwarfBuilder builder;
  builder.Section(".debug_loclists", list.bytes());
  const auto integer = builder.Int();
  builder.Function("f", 0x1000, 0x100);
  for (int i = 0; i < 1'000; ++i) builder.Variable("v", integer, Offset(DW_AT_location, 0));
  builder.Close();
  ReadFile file(builder);
  std::size_t places = 0;
  for (const FunctionFacts& function : file.facts().functions) places += function.places.size();
  EXPECT_LT(places, 2'000'000u);
}

TEST(UnitSummary, NamesFunctionsWithResultsAndStatics) {
  DwarfBuilder builder;
  const auto integer = builder.Int();
  builder.Open(DW_TAG_subprogram, {Name("f"), Reference(DW_AT_type, integer), Address(DW_AT_low_pc, 0x1000),
                                   Amount(DW_AT_high_pc, 8)});
  builder.Open(DW_TAG_lexical_block, {});
  builder.Variable("count", integer, Expression(AtAddress(0x4000)));
  builder.Variable("local", integer, Expression(kInRegister));
  builder.Close();
  builder.Close();
  ReadFile file(builder);
  const UnitSummary summary = ReadUnitSummary(file.unit(), file.pool);
  ASSERT_EQ(summary.functions.size(), 1u);
  EXPECT_STREQ(summary.functions[0].name, "f");
  EXPECT_EQ(summary.functions[0].address, 0x1000u);
  EXPECT_EQ(file.graph[file.graph.Of(file.unit(), summary.functions[0].result.reference)].name, "int");
  ASSERT_EQ(summary.variables.size(), 1u);
  EXPECT_STREQ(summary.variables[0].name, "count");
}

TEST(UnitSummary, FunctionWithoutAResultHasNoReference) {
  DwarfBuilder builder;
  builder.Function("f", 0x1000, 8);
  builder.Close();
  ReadFile file(builder);
  EXPECT_EQ(ReadUnitSummary(file.unit(), file.pool).functions.at(0).result.unit, nullptr);
}

}  // namespace
}  // namespace linesmith
