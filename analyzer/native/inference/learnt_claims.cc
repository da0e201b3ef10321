// SPDX-License-Identifier: GPL-2.0-or-later
#include "inference/learnt_claims.h"

#include <algorithm>

namespace linesmith {
namespace {

// Different claims of one value in different blocks; made-up functions could have any number.
constexpr std::size_t kMostClaims = 64;

bool IsSame(const Claim& one, const Claim& two) { return one.type == two.type && one.offset == two.offset; }

}  // namespace

void LearntClaims::Put(const Claim& claim, std::optional<Sum>& sum) const {
  if (!sum) {
    sum = Sum{claim};
    return;
  }
  Claim& known = sum->claim;
  if (IsSame(known, claim) || parts_.Holds(known.type, known.offset - claim.offset, claim.type)) return;
  const bool outer = parts_.Holds(claim.type, claim.offset - known.offset, known.type);
  if (outer || (parts_.IsPlain(known.type) && !parts_.IsPlain(claim.type))) {
    known = claim;
  } else if (!parts_.IsPlain(claim.type)) {
    sum->cancelled = true;
  }
}

void LearntClaims::Learn(Definition definition, const Claim& claim, std::uint32_t block) {
  Learnt& learnt = values_[definition];
  Put(claim, learnt.sum);
  const bool known = std::ranges::any_of(learnt.claims, [&](const LocalClaim& local) {
    return local.block == block && IsSame(local.claim, claim);
  });
  if (!known && learnt.claims.size() < kMostClaims) learnt.claims.push_back({claim, block});
}

void LearntClaims::LearnUntyped(Definition definition) { values_[definition].untyped = true; }

const Claim* LearntClaims::Everywhere(Definition definition) const {
  const auto found = values_.find(definition);
  if (found == values_.end() || found->second.untyped || !found->second.sum) return nullptr;
  return found->second.sum->cancelled ? nullptr : &found->second.sum->claim;
}

std::vector<Claim> LearntClaims::All(Definition definition, std::uint32_t block) const {
  const auto found = values_.find(definition);
  std::vector<Claim> claims;
  if (found == values_.end()) return claims;
  for (const LocalClaim& local : found->second.claims) {
    const bool connected = local.block == block || dominators_->Passes(local.block, block) ||
                           dominators_->Passes(block, local.block);
    if (connected) claims.push_back(local.claim);
  }
  return claims;
}

std::optional<Claim> LearntClaims::Within(Definition definition, std::uint32_t block) const {
  const auto found = values_.find(definition);
  if (found == values_.end() || !found->second.untyped || !found->second.sum) return std::nullopt;
  std::optional<Sum> sum;
  for (const Claim& claim : All(definition, block)) Put(claim, sum);
  return sum && !sum->cancelled ? std::optional(sum->claim) : std::nullopt;
}

}  // namespace linesmith
