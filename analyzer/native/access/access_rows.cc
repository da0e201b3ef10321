// SPDX-License-Identifier: GPL-2.0-or-later

#include "access/access_rows.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace linesmith {
namespace {

template <typename Narrow, typename Wide>
Narrow Limited(Wide value) {
  using Limits = std::numeric_limits<Narrow>;
  return static_cast<Narrow>(std::clamp<std::int64_t>(value, Limits::min(), Limits::max()));
}

}  // namespace

std::uint32_t TextTable::NumberOf(const std::string& text) {
  const auto [place, fresh] = numbers_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
  if (fresh) texts_.push_back(text);
  return place->second;
}

void AccessRows::EnterUnit(UnitContext* unit, const UnitFacts* facts) {
  unit_ = unit;
  facts_ = facts;
  unit_files_.clear();
}

void AccessRows::Add(const RowFunction& function, const FunctionFacts* facts,
                     const std::vector<InferredAccess>& accesses) {
  static const std::vector<InlinedCall> kNone;
  InlineChains chains(facts != nullptr ? facts->inlined : kNone);
  std::unordered_map<std::int32_t, std::uint32_t> known;
  for (RowTable* table : {&accesses_, &handed_}) {
    table->functions.push_back(function);
    table->functions.back().first = table->rows.size();
  }
  for (const InferredAccess& access : accesses) {
    AccessRow row{.address = access.address,
                  .function = static_cast<std::uint32_t>(accesses_.functions.size() - 1),
                  .type = access.type,
                  .offset = Limited<std::int32_t>(access.offset),
                  .width = Limited<std::uint16_t>(access.width),
                  .kind = access.kind,
                  .outcome = access.outcome};
    const std::int32_t call = chains.InnermostAt(access.address);
    const auto [place, fresh] = known.try_emplace(call, 0);
    if (fresh) place->second = chains_.NumberOf(chains.NamesOf(call));
    row.chain = place->second;
    if (!access.variable.empty()) row.variable = variables_.NumberOf(std::string(access.variable));
    SetLine(row);
    (access.handed ? handed_ : accesses_).rows.push_back(row);
  }
  for (RowTable* table : {&accesses_, &handed_}) table->functions.back().last = table->rows.size();
}

void AccessRows::SetLine(AccessRow& row) {
  if (facts_ == nullptr) return;
  const auto behind = std::ranges::upper_bound(facts_->lines, row.address, {}, &LineRow::address);
  if (behind == facts_->lines.begin()) return;
  const LineRow& line = *std::prev(behind);
  row.line = line.line;
  if (line.line != 0) row.file = FileOf(line.file);
}

std::uint32_t AccessRows::FileOf(std::uint32_t number) {
  const auto [place, fresh] = unit_files_.try_emplace(number, 0);
  if (fresh && facts_->line_files != nullptr) {
    place->second = files_.NumberOf(facts_->line_files->Path(number, unit_->directory()));
  }
  return place->second;
}

namespace {

constexpr unsigned kDeepestChain = 200;

}  // namespace

InlineChains::InlineChains(const std::vector<InlinedCall>& inlined) : inlined_(inlined) {
  for (std::size_t call = 0; call < inlined.size(); ++call) {
    for (const AddressRange& range : inlined[call].ranges) {
      spans_.push_back({range.low, range.high, static_cast<std::int32_t>(call)});
    }
  }
  std::ranges::sort(spans_, {}, [](const Span& span) { return std::tuple(span.low, span.call); });
}

std::int32_t InlineChains::InnermostAt(std::uint64_t address) {
  for (; next_ < spans_.size() && spans_[next_].low <= address; ++next_) {
    while (!open_.empty() && open_.back().high <= spans_[next_].low) open_.pop_back();
    open_.push_back(spans_[next_]);
  }
  while (!open_.empty() && open_.back().high <= address) open_.pop_back();
  return open_.empty() ? -1 : open_.back().call;
}

std::string InlineChains::NamesOf(std::int32_t call) const {
  std::vector<std::string_view> names;
  for (unsigned depth = 0; call >= 0 && depth < kDeepestChain; ++depth) {
    if (static_cast<std::size_t>(call) >= inlined_.size()) break;
    names.push_back(inlined_[static_cast<std::size_t>(call)].name);
    call = inlined_[static_cast<std::size_t>(call)].parent;
  }
  std::string text;
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (!text.empty()) text += '\n';
    text += *name;
  }
  return text;
}

}  // namespace linesmith
