// SPDX-License-Identifier: GPL-2.0-or-later
// From what is known of an address to the outcome of the access.
#pragma once

#include "code/machine_code.h"
#include "inference/type_inference.h"
#include "inference/value_algebra.h"

namespace linesmith {

// Fills in outcome, type, offset and variable of `access`, whose address is `address` and whose width is set.
void Decide(const Value& address, ValueAlgebra& algebra, InferredAccess& access);

}  // namespace linesmith
