// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/access_merge.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "types/type_spelling.h"

namespace linesmith {
namespace {

std::vector<std::string> SplitNames(const std::string& names) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start < names.size();) {
    const std::size_t end = std::min(names.find('\n', start), names.size());
    parts.push_back(names.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

// Numbers of the whole map for those of one worker; 0: not met yet.
struct WorkerNumbers {
  std::vector<std::uint32_t> chains;
  std::vector<std::uint32_t> files;
  std::vector<std::uint32_t> variables;
  std::vector<std::uint32_t> types;
};

std::uint32_t& At(std::vector<std::uint32_t>& numbers, std::uint32_t number) {
  if (number >= numbers.size()) numbers.resize(number + 1, 0);
  return numbers[number];
}

class Merger {
 public:
  Merger(const std::vector<WorkerRows>& workers, const RecordSet& records)
      : workers_(workers), numbers_(workers.size()), records_(records) {
    map_.types.emplace_back();
  }

  AccessMap Merge();

 private:
  struct Place {
    std::size_t worker = 0;
    const RowFunction* function = nullptr;
  };

  std::vector<Place> Functions() const;
  void AddFunction(const Place& place);
  void AddRow(const AccessRow& row, std::size_t worker);
  std::uint32_t TypeOf(std::uint32_t type, std::size_t worker);
  static std::uint32_t TextOf(std::uint32_t number, const TextTable& from,
                              std::vector<std::uint32_t>& numbers, TextTable& to);
  void SortRows();

  const std::vector<WorkerRows>& workers_;
  std::vector<WorkerNumbers> numbers_;
  const RecordSet& records_;
  std::map<std::tuple<std::string, std::int64_t, std::uint64_t>, std::uint32_t> types_;
  TextTable chains_;
  TextTable files_;
  TextTable variables_;
  AccessMap map_;
};

// By address, those of the lowest unit where several describe one.
std::vector<Merger::Place> Merger::Functions() const {
  std::vector<Place> places;
  for (std::size_t worker = 0; worker < workers_.size(); ++worker) {
    for (const RowFunction& function : workers_[worker].table->functions)
      places.push_back({worker, &function});
  }
  std::ranges::sort(places, {}, [](const Place& place) {
    return std::tuple(place.function->low, place.function->unit, place.function->name);
  });
  const auto repeated =
      std::ranges::unique(places, {}, [](const Place& place) { return place.function->low; });
  places.erase(repeated.begin(), repeated.end());
  return places;
}

AccessMap Merger::Merge() {
  for (const Place& place : Functions()) AddFunction(place);
  SortRows();
  for (const std::string& names : chains_.texts()) map_.inline_chains.push_back(SplitNames(names));
  map_.files = files_.texts();
  map_.variables = variables_.texts();
  return std::move(map_);
}

void Merger::AddFunction(const Place& place) {
  const RowFunction& function = *place.function;
  map_.functions.push_back({.name = function.name,
                            .low = function.low,
                            .high = function.high,
                            .accesses = function.last - function.first});
  const std::vector<AccessRow>& rows = workers_[place.worker].table->rows;
  for (std::size_t row = function.first; row < function.last; ++row) AddRow(rows[row], place.worker);
}

void Merger::AddRow(const AccessRow& row, std::size_t worker) {
  const AccessRows& from = *workers_[worker].rows;
  WorkerNumbers& numbers = numbers_[worker];
  AccessColumns& columns = map_.columns;
  columns.address.push_back(row.address);
  columns.function.push_back(static_cast<std::uint32_t>(map_.functions.size() - 1));
  columns.inlined.push_back(TextOf(row.chain, from.chains(), numbers.chains, chains_));
  columns.file.push_back(TextOf(row.file, from.files(), numbers.files, files_));
  columns.line.push_back(row.line);
  columns.type.push_back(TypeOf(row.type, worker));
  columns.offset.push_back(row.offset);
  columns.width.push_back(row.width);
  columns.kind.push_back(static_cast<std::uint8_t>(row.kind));
  columns.outcome.push_back(static_cast<std::uint8_t>(row.outcome));
  columns.variable.push_back(TextOf(row.variable, from.variables(), numbers.variables, variables_));
}

std::uint32_t Merger::TextOf(std::uint32_t number, const TextTable& from, std::vector<std::uint32_t>& numbers,
                             TextTable& to) {
  if (number == 0) return 0;
  std::uint32_t& known = At(numbers, number);
  if (known == 0) known = to.NumberOf(from.texts()[number]);
  return known;
}

std::uint32_t Merger::TypeOf(std::uint32_t type, std::size_t worker) {
  if (type == kVoid) return 0;
  std::uint32_t& known = At(numbers_[worker].types, type);
  if (known != 0) return known;
  TypeGraph& graph = *workers_[worker].graph;
  const TypeNode& node = graph[type];
  const std::string name = TypeSpelling(*workers_[worker].pool, records_).Of(graph, type);
  const std::int64_t layout = node.kind == TypeKind::kRecord ? records_.IdOf(node.identity) : -1;
  const auto [place, fresh] =
      types_.try_emplace({name, layout, node.size}, static_cast<std::uint32_t>(map_.types.size()));
  if (fresh) map_.types.push_back({.name = name, .layout = layout, .size = node.size});
  return known = place->second;
}

template <typename Item>
void Permute(std::vector<Item>& column, const std::vector<std::uint32_t>& order) {
  std::vector<Item> sorted(column.size());
  for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = column[order[i]];
  column.swap(sorted);
}

// Cold parts of a function lie apart from it.
void Merger::SortRows() {
  AccessColumns& columns = map_.columns;
  if (std::ranges::is_sorted(columns.address)) return;
  std::vector<std::uint32_t> order(columns.address.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::uint32_t row) { return columns.address[row]; });
  Permute(columns.address, order);
  Permute(columns.function, order);
  Permute(columns.inlined, order);
  Permute(columns.file, order);
  Permute(columns.line, order);
  Permute(columns.type, order);
  Permute(columns.offset, order);
  Permute(columns.width, order);
  Permute(columns.kind, order);
  Permute(columns.outcome, order);
  Permute(columns.variable, order);
}

}  // namespace

AccessMap MergeRows(const std::vector<WorkerRows>& workers, const RecordSet& records) {
  return Merger(workers, records).Merge();
}

}  // namespace linesmith
