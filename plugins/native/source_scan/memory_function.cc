// SPDX-License-Identifier: GPL-2.0-or-later
#include "memory_function.h"

#include "clang/AST/Decl.h"
#include "llvm/ADT/StringSwitch.h"

namespace linesmith {
namespace {

// Which arguments are pointers and which one the length; -1 for none.
struct Signature {
  int first = -1;
  int second = -1;
  int length = -1;
  unsigned unit = 1;
  bool leaves_program = false;
};

llvm::StringRef PlainName(llvm::StringRef name) {
  for (const llvm::StringRef prefix :
       {"__builtin___", "__builtin_", "__underlying_", "__inline_", "__asan_", "_"}) {
    while (name.consume_front(prefix)) {
    }
  }
  name.consume_back("_chk");
  return name;
}

Signature SignatureOf(llvm::StringRef name) {
  return llvm::StringSwitch<Signature>(PlainName(name))
      .Cases("memset", "memset_io", "memchr_inv", {0, -1, 2})
      .Cases("memcpy", "memmove", "mempcpy", "memcmp", "bcmp", {0, 1, 2})
      .Cases("memcpy_fromio", "memcpy_toio", "unsafe_memcpy", "bcopy", {0, 1, 2})
      .Cases("bzero", "explicit_bzero", "memzero_explicit", {0, -1, 1})
      .Cases("copy_to_user", "copy_from_user", "copy_in_user", {0, 1, 2, 1, true})
      .Cases("copy_to_user_inatomic", "copy_from_user_inatomic", "raw_copy_to_user", "raw_copy_from_user",
             {0, 1, 2, 1, true})
      .Cases("copy_from_sockptr", "copy_to_iter", "copy_from_iter", {0, 1, 2, 1, true})
      .Cases("crc32", "crc32_le", "crc32_be", "crc32c", "crc16", {1, -1, 2})
      .Cases("jhash", "siphash", "xxh64", "xxh32", "csum_partial", {0, -1, 1})
      .Case("jhash2", {0, -1, 1, 4})
      .Cases("read", "write", "send", "recv", "skb_put_data", "skb_copy_bits", {1, -1, 2})
      .Default({});
}

}  // namespace

std::optional<MemoryArguments> MemoryArgumentsOf(const clang::CallExpr& call) {
  const clang::FunctionDecl* callee = call.getDirectCallee();
  if (callee == nullptr || callee->getIdentifier() == nullptr) return std::nullopt;
  const Signature signature = SignatureOf(callee->getName());
  if (signature.length < 0 || signature.length >= static_cast<int>(call.getNumArgs())) return std::nullopt;
  MemoryArguments arguments;
  arguments.length = call.getArg(signature.length);
  arguments.unit = signature.unit;
  arguments.leaves_program = signature.leaves_program;
  for (const int pointer : {signature.first, signature.second}) {
    if (pointer < 0 || pointer >= static_cast<int>(call.getNumArgs())) continue;
    if (call.getArg(pointer)->getType()->isPointerType()) arguments.pointers.push_back(call.getArg(pointer));
  }
  return arguments;
}

const clang::Expr* FreedArgument(const clang::CallExpr& call) {
  const clang::FunctionDecl* callee = call.getDirectCallee();
  if (callee == nullptr || callee->getIdentifier() == nullptr) return nullptr;
  const int argument = llvm::StringSwitch<int>(callee->getName())
                           .Cases("free", "cfree", "realloc", "kfree", "vfree", "kvfree", 0)
                           .Cases("kfree_sensitive", "kfree_const", "krealloc", "g_free", 0)
                           .Case("mempool_free", 0)
                           .Case("kmem_cache_free", 1)
                           .Default(-1);
  if (argument < 0 || argument >= static_cast<int>(call.getNumArgs())) return nullptr;
  return call.getArg(argument);
}

const clang::Expr& SourceOfLength(const clang::Expr& length) {
  const clang::Expr* plain = length.IgnoreParenCasts();
  const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(plain);
  if (named == nullptr) return length;
  const auto* variable = llvm::dyn_cast<clang::VarDecl>(named->getDecl());
  const bool of_macro =
      variable != nullptr && variable->isLocalVarDecl() && variable->getLocation().isMacroID();
  return of_macro && variable->getInit() != nullptr ? *variable->getInit() : length;
}

std::optional<std::uint64_t> KnownLength(const clang::Expr& length, const clang::ASTContext& context) {
  clang::Expr::EvalResult value;
  if (!SourceOfLength(length).EvaluateAsInt(value, context)) return std::nullopt;
  return value.Val.getInt().getZExtValue();
}

}  // namespace linesmith
