// SPDX-License-Identifier: GPL-2.0-or-later
// Functions, variables and lines out of what compilers really write: DWARF 2 to 5, split, relocatable, C++,
// arm64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "dwarf/debug_loader.h"
#include "program/function_facts.h"

namespace linesmith {
namespace {

const char kProgram[] = R"(struct node { struct node *next; long value; };
__thread int depth;
static long total(const struct node *node) {
  static int calls;
  long sum = 0;
  calls++;
  for (; node; node = node->next)
    sum += node->value;
  return sum;
}
__attribute__((noinline)) struct node *last(struct node *node) {
  while (node->next) node = node->next;
  return node;
}
int main(int argc, char **argv) {
  struct node first = {0, argc}, second = {&first, (long)argv};
  depth += argc;
  return (int)(total(last(&second)) + total(&second));
}
)";

// A source file compiled in a directory of its own; `made` is false where the compiler is not installed.
class Compiled {
 public:
  Compiled(const std::string& compiler, const std::string& options, const std::string& source = kProgram,
           const std::string& name = "program.c") {
    std::string pattern = std::filesystem::temp_directory_path() / "facts-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    std::ofstream(directory_ / name) << source;
    const std::string command =
        "cd '" + directory_.string() + "' && " + compiler + " " + options + " -o output " + name + " 2>log";
    made = std::system(command.c_str()) == 0;
    if (!made) return;
    info_ = LoadDebugInfo(directory_ / "output", {});
    pool = std::make_unique<UnitPool>(*info_);
    graph = std::make_unique<TypeGraph>(*pool);
    for (const Unit* unit : info_->units) Collect(pool->Open(*unit));
  }
  ~Compiled() { std::filesystem::remove_all(directory_); }

  const FunctionFacts& function(const std::string& name) const {
    static const FunctionFacts kNone;
    const auto found = std::ranges::find(functions, name, &FunctionFacts::name);
    EXPECT_NE(found, functions.end()) << name;
    return found != functions.end() ? *found : kNone;
  }
  const GlobalVariable& global(const std::string& name) const {
    static const GlobalVariable kNone;
    const auto found = std::ranges::find(globals, name, &GlobalVariable::name);
    EXPECT_NE(found, globals.end()) << name;
    return found != globals.end() ? *found : kNone;
  }
  // The name of the record that a pointer leads to.
  std::string_view Target(TypeId pointer) const { return (*graph)[(*graph)[pointer].target].name; }
  std::uint32_t LineAt(std::uint64_t address) const {
    std::uint32_t line = 0;
    for (const LineRow& row : lines) line = row.address <= address ? row.line : line;
    return line;
  }

  bool made = false;
  std::unique_ptr<UnitPool> pool;
  std::unique_ptr<TypeGraph> graph;
  std::vector<FunctionFacts> functions;
  std::vector<GlobalVariable> globals;
  std::vector<LineRow> lines;
  std::string path;  // of the file that the lines count first

 private:
  void Collect(UnitContext& unit) {
    UnitFacts facts = ReadUnitFacts(unit, *graph);
    std::ranges::move(facts.functions, std::back_inserter(functions));
    std::ranges::move(facts.globals, std::back_inserter(globals));
    std::ranges::move(facts.lines, std::back_inserter(lines));
    if (!facts.lines.empty()) path = facts.line_files->Path(facts.lines.front().file, unit.directory());
  }

  std::filesystem::path directory_;
  std::unique_ptr<DebugInfo> info_;
};

struct Flavour {
  const char* compiler;
  const char* options;
};

void PrintTo(const Flavour& flavour, std::ostream* out) {
  *out << flavour.compiler << ' ' << flavour.options;
}

// Whether the value of a pointer to a node is in some register, at this depth of inlining.
bool HasNode(const Compiled& compiled, const FunctionFacts& function, unsigned inline_depth) {
  return std::ranges::any_of(function.places, [&](const VariablePlace& place) {
    return place.kind == PlaceKind::kRegister && place.inline_depth == inline_depth &&
           compiled.Target(place.type) == "node";
  });
}

class EveryCompiler : public testing::TestWithParam<Flavour> {};

TEST_P(EveryCompiler, SaysWhereVariablesAreAndWhatTheyLeadTo) {
  const Compiled compiled(GetParam().compiler, GetParam().options);
  if (!compiled.made) GTEST_SKIP() << GetParam().compiler << " is not installed";
  const FunctionFacts& last = compiled.function("last");
  EXPECT_TRUE(HasNode(compiled, last, 0));
  ASSERT_EQ(last.parameters.size(), 1u);
  EXPECT_EQ(compiled.Target(last.parameters[0]), "node");
  EXPECT_EQ(compiled.Target(last.result), "node");
  EXPECT_EQ((*compiled.graph)[compiled.function("main").result].name, "int");
}

TEST_P(EveryCompiler, NamesInlinedCodeAndItsCalls) {
  const Compiled compiled(GetParam().compiler, GetParam().options);
  if (!compiled.made) GTEST_SKIP() << GetParam().compiler << " is not installed";
  const FunctionFacts& main = compiled.function("main");
  ASSERT_EQ(main.inlined.size(), 2u);
  for (const InlinedCall& call : main.inlined) {
    EXPECT_EQ(call.name, "total");
    EXPECT_EQ(call.call_line, 18u);
    EXPECT_FALSE(call.ranges.empty());
  }
  EXPECT_TRUE(HasNode(compiled, main, 1));
}

TEST_P(EveryCompiler, SaysWhichVariablesAreStatic) {
  const Compiled compiled(GetParam().compiler, GetParam().options);
  if (!compiled.made) GTEST_SKIP() << GetParam().compiler << " is not installed";
  EXPECT_FALSE(compiled.global("calls").thread_local_storage);
  EXPECT_EQ((*compiled.graph)[compiled.global("calls").type].name, "int");
}

TEST_P(EveryCompiler, LinesBeginWithTheFunctions) {
  const Compiled compiled(GetParam().compiler, GetParam().options);
  if (!compiled.made) GTEST_SKIP() << GetParam().compiler << " is not installed";
  const std::uint32_t line = compiled.LineAt(compiled.function("last").ranges.at(0).low);
  EXPECT_TRUE(line == 11 || line == 12) << line;  // the loop begins with the function
  EXPECT_EQ(compiled.path.substr(compiled.path.rfind('/') + 1), "program.c");
}

// With -c addresses are left to relocations.
INSTANTIATE_TEST_SUITE_P(Gcc, EveryCompiler,
                         testing::Values(Flavour{"gcc", "-O2 -gdwarf-2"}, Flavour{"gcc", "-O2 -gdwarf-3"},
                                         Flavour{"gcc", "-O2 -gdwarf-4"}, Flavour{"gcc", "-O2 -gdwarf-5"},
                                         Flavour{"gcc", "-O2 -gdwarf-5 -gz"},
                                         Flavour{"gcc", "-O2 -gdwarf-5 -c"},
                                         Flavour{"gcc", "-O2 -gdwarf-4 -c -ffunction-sections"},
                                         Flavour{"gcc", "-O2 -gdwarf-4 -fdebug-types-section"},
                                         Flavour{"gcc", "-O2 -gdwarf-4 -gsplit-dwarf"},
                                         Flavour{"gcc", "-O2 -gdwarf-5 -gsplit-dwarf"}));
INSTANTIATE_TEST_SUITE_P(Clang, EveryCompiler,
                         testing::Values(Flavour{"clang-19", "-O2 -gdwarf-4"},
                                         Flavour{"clang-19", "-O2 -gdwarf-5"},
                                         Flavour{"clang-19", "-O2 -gdwarf-5 -c"},
                                         Flavour{"clang-19", "-O2 -gdwarf-5 -gsplit-dwarf"}));
INSTANTIATE_TEST_SUITE_P(Arm64, EveryCompiler,
                         testing::Values(Flavour{"aarch64-linux-gnu-gcc", "-O2 -gdwarf-5 -c"},
                                         Flavour{"clang-19", "--target=aarch64-linux-gnu -O2 -g -c"}));

TEST(CompiledFacts, ArgumentIsInItsRegisterAtEntry) {
  const Compiled compiled("gcc", "-O2 -g -c", "long f(long *p) { return p[0] + p[1]; }\n");
  ASSERT_TRUE(compiled.made);
  const FunctionFacts& last = compiled.function("f");
  const auto place = std::ranges::find(last.places, last.ranges.at(0).low,
                                       [](const VariablePlace& at) { return at.range.low; });
  ASSERT_NE(place, last.places.end());
  EXPECT_EQ(place->kind, PlaceKind::kRegister);
  EXPECT_EQ(place->reg, 5);
}

TEST(CompiledFacts, VariablesOfAThreadAreOffsets) {
  for (const char* options : {"-O2 -g", "-O2 -g -c"}) {
    const Compiled compiled("gcc", options);
    ASSERT_TRUE(compiled.made);
    EXPECT_TRUE(compiled.global("depth").thread_local_storage) << options;
    EXPECT_EQ(compiled.global("depth").address, 0u) << options;
  }
}

TEST(CompiledFacts, SectionsOfObjectsDoNotOverlap) {
  const Compiled compiled("gcc", "-O2 -g -c -ffunction-sections");
  ASSERT_TRUE(compiled.made);
  const AddressRange last = compiled.function("last").ranges.at(0);
  const AddressRange main = compiled.function("main").ranges.at(0);
  EXPECT_TRUE(last.high <= main.low || main.high <= last.low);
  EXPECT_GE(last.low, kRelocatableBase);
}

TEST(CompiledFacts, LocalsWithoutOptimisationAreInTheFrame) {
  const Compiled compiled("gcc", "-O0 -g");
  ASSERT_TRUE(compiled.made);
  const FunctionFacts& main = compiled.function("main");
  EXPECT_EQ(std::ranges::count(main.places, PlaceKind::kFrame, &VariablePlace::kind), 4);
}

TEST(CompiledFacts, FrameBaseOfClangWithoutOptimisationIsARegister) {
  const Compiled compiled("clang-19", "-O0 -g");
  if (!compiled.made) GTEST_SKIP() << "clang-19 is not installed";
  const FunctionFacts& main = compiled.function("main");
  EXPECT_EQ(std::ranges::count(main.places, PlaceKind::kMemory, &VariablePlace::kind), 4);
  EXPECT_TRUE(std::ranges::all_of(main.places, [](const VariablePlace& place) { return place.reg == 6; }));
}

TEST(CompiledFacts, StructInTwoRegistersComesInPieces) {
  const Compiled compiled("gcc", "-O2 -g -c",
                          "struct pair { long *a, *b; };\nlong f(struct pair p) { return *p.a + *p.b; }\n");
  ASSERT_TRUE(compiled.made);
  const FunctionFacts& function = compiled.function("f");
  const auto second = std::ranges::find(function.places, 8u, &VariablePlace::piece_offset);
  ASSERT_NE(second, function.places.end());
  EXPECT_EQ(second->piece_bytes, 8u);
  EXPECT_EQ(second->reg, 4);
}

TEST(CompiledFacts, ColdPartIsTheSecondRange) {
  const Compiled compiled(
      "g++", "-O2 -g -c",
      "int g(int);\nint f(int x) { try { return g(x) + 1; } catch (...) { return g(-x); } }\n", "cold.cc");
  ASSERT_TRUE(compiled.made);
  const FunctionFacts& function = compiled.function("f");
  ASSERT_EQ(function.ranges.size(), 2u);
  EXPECT_TRUE(std::ranges::any_of(function.places, [&](const VariablePlace& place) {
    return place.range.low >= function.ranges[1].low && place.range.high <= function.ranges[1].high;
  }));
}

TEST(CompiledFacts, LinkTimeOptimisationKeepsTypesInOtherUnits) {
  const Compiled compiled("gcc", "-O2 -g -flto");
  ASSERT_TRUE(compiled.made);
  const FunctionFacts& last = compiled.function("last");
  ASSERT_EQ(last.parameters.size(), 1u);
  EXPECT_EQ(compiled.Target(last.parameters[0]), "node");
  EXPECT_EQ(compiled.graph->Fields((*compiled.graph)[last.parameters[0]].target).size(), 2u);
}

TEST(CompiledFacts, MethodOfAClassKnowsItself) {
  const Compiled compiled("g++", "-O2 -g -c",
                          "namespace n { struct Box { long value; long Get() const; }; }\n"
                          "long n::Box::Get() const { return value; }\n",
                          "method.cc");
  ASSERT_TRUE(compiled.made);
  const FunctionFacts& function = compiled.function("Get");
  ASSERT_EQ(function.parameters.size(), 1u);
  EXPECT_EQ(compiled.Target(function.parameters[0]), "n::Box");
  EXPECT_EQ((*compiled.graph)[function.result].name, "long int");
}

TEST(CompiledFacts, InheritedMembersLieInTheBase) {
  const Compiled compiled("g++", "-O2 -g -c",
                          "struct Base { long first; }; struct Derived : Base { int second; };\n"
                          "int f(Derived *d) { return d->second + d->first; }\n",
                          "derived.cc");
  ASSERT_TRUE(compiled.made);
  const TypeId derived = (*compiled.graph)[compiled.function("f").parameters.at(0)].target;
  const std::optional<Part> part = compiled.graph->Leaf(derived, 0, 8);
  ASSERT_TRUE(part);
  EXPECT_EQ((*compiled.graph)[part->type].name, "long int");
  EXPECT_EQ(compiled.graph->Fields(derived).size(), 2u);
}

}  // namespace
}  // namespace linesmith
