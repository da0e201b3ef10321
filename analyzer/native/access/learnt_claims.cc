// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/learnt_claims.h"

namespace linesmith {

void LearntClaims::Learn(Definition definition, const Claim& claim) {
  const auto [place, fresh] = claims_.try_emplace(definition, Learnt{claim});
  Learnt& learnt = place->second;
  if (fresh || (learnt.claim.type == claim.type && learnt.claim.offset == claim.offset)) return;
  if (parts_.Holds(learnt.claim.type, learnt.claim.offset - claim.offset, claim.type)) return;
  const bool outer = parts_.Holds(claim.type, claim.offset - learnt.claim.offset, learnt.claim.type);
  if (outer || (parts_.IsPlain(learnt.claim.type) && !parts_.IsPlain(claim.type))) {
    learnt.claim = claim;
  } else if (!parts_.IsPlain(claim.type)) {
    learnt.cancelled = true;
  }
}

const Claim* LearntClaims::Of(Definition definition) const {
  const auto found = claims_.find(definition);
  return found != claims_.end() && !found->second.cancelled ? &found->second.claim : nullptr;
}

}  // namespace linesmith
