// SPDX-License-Identifier: GPL-2.0-or-later
#include "index_content.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/blake2b.h"
#include "base/worker_crew.h"
#include "json_writer.h"
#include "records/record_order.h"

namespace linesmith {
namespace {

// What LayoutJson() takes besides texts, for most records and members.
constexpr std::size_t kDocumentBytes = 160;
constexpr std::size_t kMemberBytes = 140;
// Whose documents are written by one thread at a time.
constexpr std::size_t kRecordsPerRun = 500;

std::vector<NamedRecords> NamesOf(const std::vector<Record>& records) {
  std::unordered_map<std::string_view, std::size_t> places;
  std::vector<NamedRecords> names;
  for (std::uint32_t id = 0; id < records.size(); ++id) {
    const std::string& name = records[id].name;
    if (name.empty()) continue;
    const auto [place, fresh] = places.try_emplace(name, names.size());
    if (fresh) names.push_back({name, {}});
    names[place->second].ids.push_back(id);
  }
  const auto most_used = [&](std::uint32_t id) { return std::pair(-std::int64_t{records[id].units}, id); };
  for (NamedRecords& named : names) std::ranges::sort(named.ids, {}, most_used);
  return names;
}

// Hashes fields so that no two lists of fields are the same bytes.
class FieldHash {
 public:
  void Number(std::uint64_t number) {
    char bytes[8];
    for (unsigned i = 0; i < sizeof bytes; ++i) bytes[i] = static_cast<char>(number >> (8 * i));
    hash_.Add({bytes, sizeof bytes});
  }
  void Optional(const std::optional<std::uint64_t>& number) {
    Number(number.has_value() ? 1 : 0);
    if (number) Number(*number);
  }
  void Text(std::string_view text) {
    Number(text.size());
    hash_.Add(text);
  }
  std::array<char, Blake2b::kDigestBytes> Finish() { return hash_.Finish(); }

 private:
  Blake2b hash_;
};

void HashMember(FieldHash& hash, const Member& member) {
  hash.Text(member.name);
  hash.Text(member.type);
  hash.Text(member.declarator);
  hash.Number(member.offset);
  hash.Number(member.size);
  hash.Optional(member.alignment);
  hash.Optional(member.bit_offset);
  hash.Optional(member.bit_size);
}

std::string DigestsOf(const std::vector<Record>& records) {
  constexpr std::size_t kBytes = Blake2b::kDigestBytes;
  std::string digests(records.size() * kBytes, '\0');
  // The readers have refused records that hold themselves, so there is an order and no place to name.
  for (const std::uint32_t id : InnermostFirst("", records)) {
    const Record& record = records[id];
    FieldHash hash;
    hash.Number(static_cast<std::uint64_t>(record.kind));
    hash.Number(record.size);
    hash.Optional(record.alignment);
    hash.Number(record.members.size());
    for (const Member& member : record.members) {
      HashMember(hash, member);
      const bool anonymous = member.record && records[*member.record].name.empty();
      hash.Text(anonymous ? std::string_view(digests).substr(*member.record * kBytes, kBytes) : "");
    }
    const auto digest = hash.Finish();
    std::ranges::copy(digest, digests.begin() + static_cast<std::ptrdiff_t>(id * kBytes));
  }
  return digests;
}

std::size_t ExpectedBytes(const Record& record) {
  std::size_t bytes = kDocumentBytes + record.name.size() + record.file.size() + record.unit.size();
  for (const Member& member : record.members) {
    bytes += kMemberBytes + member.name.size() + member.type.size() + member.declarator.size() +
             member.target.size();
  }
  return bytes;
}

// Documents of consecutive records, and where in `text` each ends.
struct DocumentRun {
  std::string text;
  std::vector<std::uint64_t> ends;
};

DocumentRun DocumentsOf(const std::vector<Record>& records, std::size_t first, std::size_t last) {
  DocumentRun run;
  std::size_t expected = 0;
  for (std::size_t id = first; id < last; ++id) expected += ExpectedBytes(records[id]);
  run.text.reserve(expected);
  for (std::size_t id = first; id < last; ++id) {
    run.text += LayoutJson(static_cast<std::uint32_t>(id), records[id]);
    run.ends.push_back(run.text.size());
  }
  return run;
}

}  // namespace

IndexContent ContentOf(const std::vector<Record>& records, unsigned threads) {
  IndexContent content;
  std::vector<DocumentRun> runs((records.size() + kRecordsPerRun - 1) / kRecordsPerRun);
  const std::size_t jobs = runs.size() + 1;
  RunJobs(WorkerCount(threads, jobs), jobs, [&](unsigned, std::size_t job) {
    if (job == 0) {  // the longest one
      content.digests = DigestsOf(records);
      content.names = NamesOf(records);
      return;
    }
    const std::size_t first = (job - 1) * kRecordsPerRun;
    runs[job - 1] = DocumentsOf(records, first, std::min(first + kRecordsPerRun, records.size()));
  });
  std::size_t bytes = 0;
  for (const DocumentRun& run : runs) bytes += run.text.size();
  content.documents.reserve(bytes);
  content.ends.reserve(records.size());
  for (DocumentRun& run : runs) {
    for (const std::uint64_t end : run.ends) content.ends.push_back(content.documents.size() + end);
    content.documents += std::exchange(run, {}).text;
  }
  return content;
}

}  // namespace linesmith
