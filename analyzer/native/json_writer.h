// SPDX-License-Identifier: GPL-2.0-or-later
// JSON documents with the fields of linesmith.analyzer.model; what equals the model's default is left out.
#pragma once

#include <string>
#include <vector>

#include "access/touched.h"
#include "base/error.h"
#include "code/operands.h"
#include "identity.h"
#include "records/record.h"

namespace linesmith {

std::string LayoutJson(std::uint32_t id, const Record& record);
std::string IdentityJson(const FileIdentity& identity);
std::string TouchedJson(const std::vector<Touched>& touched);
// {"error": KIND, "message": SENTENCE}
std::string ErrorJson(const Error& error);
std::string OperandsJson(const std::vector<Operand>& operands);

}  // namespace linesmith
