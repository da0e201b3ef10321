// SPDX-License-Identifier: GPL-2.0-or-later
#include "replayed_scene.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>

#include "line_totals.h"

namespace linesmith::replay {
namespace {

constexpr std::size_t kMostWords = std::size_t{1} << 21;  // 16 MiB of what lines cost
constexpr std::size_t kMostCounts = kMostWords / 16;      // half as much of how often they miss
constexpr std::size_t kLineWords = 24;                    // of a line without its windows and pairs
constexpr std::uint32_t kNotChosen = ~std::uint32_t{0};

// Odd constants of the splitmix64 generator (Steele, Lea, Flood: Fast splittable pseudorandom number
// generators, 2014).
std::uint64_t Mixed(std::uint64_t word) {
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
  word = (word ^ word >> 27) * 0x94d049bb133111ebu;
  return word ^ word >> 31;
}

void Add(coherence_events& sum, const coherence_events& part) {
  sum.hits += part.hits;
  sum.hitm_local += part.hitm_local;
  sum.hitm_remote += part.hitm_remote;
  sum.shared_miss += part.shared_miss;
  sum.cold_miss += part.cold_miss;
  sum.upgrade += part.upgrade;
  sum.own_local += part.own_local;
  sum.own_remote += part.own_remote;
}

// First slice behind part `index` of `parts`.
std::uint64_t WindowEnd(const Machine& machine, std::uint32_t index, std::uint32_t parts) {
  return std::uint64_t{machine.slices} * (index + 1) / parts;
}

}  // namespace

// Forgets what lines cost where they had another length or other windows, or where that is too much to keep.
void ReplayedScene::Prepare(std::uint32_t line_bytes, std::uint32_t windows) {
  if (place_of_site_.empty()) {
    for (const Site& site : scene_.sites()) places_.emplace_back(site.kind, site.offset);
    std::sort(places_.begin(), places_.end());
    places_.erase(std::unique(places_.begin(), places_.end()), places_.end());
    for (const Site& site : scene_.sites()) {
      const auto place = std::lower_bound(places_.begin(), places_.end(), std::pair{site.kind, site.offset});
      place_of_site_.push_back(static_cast<std::uint32_t>(place - places_.begin()));
    }
  }
  if (line_bytes == line_bytes_ && windows == windows_ && known_words_ < kMostWords) return;
  line_bytes_ = line_bytes;
  windows_ = windows;
  known_.clear();
  known_words_ = 0;
}

std::vector<ReplayedScene::Content> ReplayedScene::ContentsOf(const Relocated& places) const {
  std::vector<Content> contents(places.lines());
  for (std::size_t number = 0; number < scene_.uses().size(); ++number) {
    std::uint32_t done = 0;
    places.Visit(
        scene_.uses()[number], 0, [&](std::uint64_t line, std::uint32_t offset, std::uint32_t width) {
          const std::uint64_t word =
              Mixed(std::uint64_t{number} << 32 | offset << 16 | done << 8 | width) * 0x9e3779b97f4a7c15u;
          contents[line].words[0] += word;
          contents[line].words[1] += (word ^ word >> 32) * 0xc2b2ae3d27d4eb4fu ^ word >> 29;
          done += width;
        });
  }
  return contents;
}

ReplayedScene::CountTable::Entry& ReplayedScene::CountTable::Place(const Content& content) {
  std::size_t at = content.words[0] & (entries_.size() - 1);
  while (entries_[at].content != Content{} && entries_[at].content != content)
    at = (at + 1) & (entries_.size() - 1);
  return entries_[at];
}

void ReplayedScene::CountTable::Add(const Content& content, std::uint64_t count) {
  if (2 * (size_ + 1) > entries_.size()) {
    const std::vector<Entry> full = std::exchange(entries_, std::vector<Entry>(2 * entries_.size()));
    for (const Entry& entry : full)
      if (entry.content != Content{}) Place(entry.content) = entry;
  }
  Entry& entry = Place(content);
  if (entry.content != content) ++size_;
  entry = {content, count};
}

// Calls `access(event, bytes)` for all that touches a chosen line, in order for each of the `lines`; without
// `again` not for all that hits. Objects are gone through one by one; lines that several share come last.
template <typename Access>
void ReplayedScene::Go(const Relocated& places, const std::vector<std::uint32_t>& chosen, std::uint32_t lines,
                       bool again, Access&& access) const {
  const auto visit = [&](const Use& use, std::uint32_t way, auto&& take) {
    places.Visit(use, way, [&](std::uint64_t line, std::uint32_t offset, std::uint32_t width) {
      if (chosen[line] != kNotChosen)
        take(Bytes{chosen[line], static_cast<std::uint16_t>(offset), static_cast<std::uint16_t>(width)});
    });
  };
  const std::vector<Use>& uses = scene_.uses();
  std::vector<Bytes> touched;           // without those of sharded uses, which are too many to list
  std::vector<std::uint32_t> first{0};  // by use, and one behind the last
  std::vector<std::uint32_t> wanted, object_on(lines, kNotChosen);  // uses that touch a chosen line
  std::vector<std::uint8_t> shared(lines);
  for (std::uint32_t number = 0; number < uses.size(); ++number) {
    const Use& use = uses[number];
    const bool sharded = places.Sharded(use);
    visit(use, Relocated::kEverywhere, [&](const Bytes& bytes) {
      shared[bytes.line] |= object_on[bytes.line] != kNotChosen && object_on[bytes.line] != use.object;
      object_on[bytes.line] = use.object;
      if (!sharded) touched.push_back(bytes);
      if (wanted.empty() || wanted.back() != number) wanted.push_back(number);
    });
    first.push_back(static_cast<std::uint32_t>(touched.size()));
  }
  // By use, where it always touches the same bytes of one line that is no other object's.
  std::vector<Bytes> alone(uses.size(), Bytes{kNotChosen, 0, 0});
  for (const std::uint32_t use : wanted) {
    if (first[use + 1] - first[use] == 1 && shared[touched[first[use]].line] == 0 &&
        !places.Sharded(uses[use]))
      alone[use] = touched[first[use]];
  }
  std::vector<std::vector<Touch>> later(lines);
  std::vector<std::uint64_t> marked;  // a bit for each event of an object
  for (std::size_t index = 0; index < wanted.size();) {
    const std::uint32_t object = uses[wanted[index]].object;
    const std::uint32_t begin = scene_.FirstOf(object);
    marked.assign((scene_.FirstOf(object + 1) - begin) / 64 + 1, 0);
    for (; index < wanted.size() && uses[wanted[index]].object == object; ++index) {
      const std::uint32_t use = wanted[index];
      const bool all = again || places.Sharded(uses[use]) ||
                       std::any_of(touched.begin() + first[use], touched.begin() + first[use + 1],
                                   [&](const Bytes& bytes) { return shared[bytes.line] != 0; });
      for (const std::uint32_t event : scene_.EventsOfUse(use, all))
        marked[(event - begin) / 64] |= std::uint64_t{1} << (event - begin) % 64;
    }
    for (std::uint32_t word = 0; word < marked.size(); ++word) {
      for (std::uint64_t bits = marked[word]; bits != 0; bits &= bits - 1) {
        const std::uint32_t event = begin + word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
        const ShortEvent& step = scene_.short_events()[event];
        if (const Bytes& only = alone[step.use]; only.line != kNotChosen) {
          if (again || !step.again) access(event, only);
          continue;
        }
        const auto take = [&](const Bytes& bytes) {
          if (shared[bytes.line] != 0) {
            later[bytes.line].push_back({event, bytes});
          } else if (again || !step.again) {
            access(event, bytes);
          }
        };
        for (std::uint32_t number = first[step.use]; number < first[step.use + 1]; ++number)
          take(touched[number]);
        if (places.Sharded(uses[step.use])) {
          const std::uint32_t site = scene_.events()[event].site;
          visit(uses[step.use], places.WayOf(step.cpu, scene_.sites()[site].instruction), take);
        }
      }
    }
  }
  for (std::vector<Touch>& touches : later) {
    Sort(touches);
    for (const auto& [event, bytes] : touches) access(event, bytes);
    touches = {};
  }
}

// Puts what touches a line into the order of the trace; that of each object is in order already.
void ReplayedScene::Sort(std::vector<Touch>& touches) const {
  const auto before = [&](const Touch& one, const Touch& other) {
    return scene_.events()[one.event].number < scene_.events()[other.event].number;
  };
  auto sorted = std::is_sorted_until(touches.begin(), touches.end(), before);
  while (sorted != touches.end()) {
    const auto next = std::is_sorted_until(sorted, touches.end(), before);
    std::inplace_merge(touches.begin(), sorted, next, before);
    sorted = next;
  }
}

BlamedLines ReplayedScene::Replayed(const Relocated& places, const std::vector<std::uint32_t>& chosen,
                                    std::uint32_t lines) const {
  BlamedLines replayed(machine_, LineShift(line_bytes_), lines, windows_);
  if (lines == 0) return replayed;
  std::vector<std::uint64_t> ends;
  for (std::uint32_t window = 0; window + 1 < windows_; ++window)
    ends.push_back(WindowEnd(machine_, window, windows_));
  std::uint32_t window = 0;
  Go(places, chosen, lines, true, [&](std::uint32_t number, const Bytes& bytes) {
    const Event& event = scene_.events()[number];
    while (window < ends.size() && event.slice >= ends[window]) ++window;
    while (window > 0 && event.slice < ends[window - 1]) --window;
    replayed.Access(bytes.line, {event.cpu, event.site, bytes.offset, bytes.width, event.stores, window});
  });
  return replayed;
}

std::vector<ReplayedScene::PlacePair> ReplayedScene::Summed(std::vector<PlacePair> pairs) {
  std::sort(pairs.begin(), pairs.end(),
            [](const PlacePair& one, const PlacePair& other) { return one.key < other.key; });
  std::size_t kept = 0;
  for (std::size_t index = 0; index < pairs.size(); ++index) {
    if (kept > 0 && pairs[kept - 1].key == pairs[index].key) {
      pairs[kept - 1].local += pairs[index].local;
      pairs[kept - 1].remote += pairs[index].remote;
    } else {
      pairs[kept++] = pairs[index];
    }
  }
  pairs.resize(kept);
  pairs.shrink_to_fit();
  return pairs;
}

std::vector<ReplayedScene::LineMisses> ReplayedScene::MissesOf(BlamedLines& replayed,
                                                               std::uint32_t lines) const {
  std::vector<LineMisses> found(lines);
  for (const auto& [key, used, blame] : replayed.blames().entries()) {
    for (const bool own_bytes : {false, true}) {
      if (!used || blame.local[own_bytes] + blame.remote[own_bytes] == 0) continue;
      const std::uint64_t victim = place_of_site_[key.victim];
      const std::uint64_t writer = place_of_site_[key.writer];
      found[key.line].pairs.push_back(
          {victim << 32 | writer << 1 | own_bytes, blame.local[own_bytes], blame.remote[own_bytes]});
    }
  }
  for (std::uint32_t line = 0; line < lines; ++line) {
    LineCounts& counts = replayed.counts(line);
    found[line] = {counts.events, std::move(counts.windows), Summed(std::move(found[line].pairs))};
  }
  return found;
}

void ReplayedScene::Add(const LineMisses& line, Outcome& outcome, std::vector<PlacePair>& pairs) {
  linesmith::replay::Add(outcome.events, line.events);
  for (std::size_t window = 0; window < line.windows.size(); ++window)
    outcome.windows[window] += line.windows[window];
  pairs.insert(pairs.end(), line.pairs.begin(), line.pairs.end());
}

std::vector<Pair> ReplayedScene::Named(const std::vector<PlacePair>& pairs) const {
  std::vector<Pair> named;
  for (const PlacePair& pair : pairs) {
    const auto [victim_kind, victim_offset] = places_[pair.key >> 32];
    const auto [writer_kind, writer_offset] = places_[(pair.key & 0xffffffff) >> 1];
    named.push_back({victim_kind, victim_offset, writer_kind, writer_offset, (pair.key & 1) != 0, pair.local,
                     pair.remote});
  }
  std::stable_sort(named.begin(), named.end(), [](const Pair& one, const Pair& other) {
    return one.local + one.remote > other.local + other.remote;
  });
  return named;
}

// Adds what is known, and numbers the other lines in `chosen`; returns what lies on them.
std::vector<ReplayedScene::Content> ReplayedScene::AddKnown(const Relocated& places,
                                                            std::vector<std::uint32_t>& chosen,
                                                            Outcome& outcome,
                                                            std::vector<PlacePair>& pairs) const {
  std::vector<Content> fresh;
  const std::vector<Content> contents = ContentsOf(places);
  for (std::size_t line = 0; line < contents.size(); ++line) {
    if (contents[line] == Content{}) continue;
    if (const auto found = known_.find(contents[line]); found != known_.end()) {
      Add(found->second, outcome, pairs);
    } else {
      chosen[line] = static_cast<std::uint32_t>(fresh.size());
      fresh.push_back(contents[line]);
    }
  }
  return fresh;
}

Outcome ReplayedScene::Under(const Plan& plan, std::uint32_t line_bytes, std::uint32_t windows) {
  if (windows == 0) throw std::invalid_argument("a trace has at least one window");
  const Relocated places(scene_, plan, line_bytes);
  const std::lock_guard lock(mutex_);
  Prepare(line_bytes, windows);
  Outcome outcome{{}, std::vector<std::uint64_t>(windows), {}};
  std::vector<PlacePair> pairs;
  std::vector<Content> fresh;
  std::vector<std::uint32_t> chosen(places.lines(), kNotChosen);
  if (plan.sharding) {
    // Which shard an event goes to depends on its CPU.
    std::iota(chosen.begin(), chosen.end(), 0);
  } else {
    fresh = AddKnown(places, chosen, outcome, pairs);
  }
  const std::uint32_t lines = static_cast<std::uint32_t>(plan.sharding ? chosen.size() : fresh.size());
  BlamedLines replayed = Replayed(places, chosen, lines);
  std::vector<LineMisses> found = MissesOf(replayed, lines);
  for (const LineMisses& misses : found) Add(misses, outcome, pairs);
  for (std::size_t line = 0; line < fresh.size() && known_words_ < kMostWords; ++line) {
    known_words_ += kLineWords + found[line].windows.size() + 3 * found[line].pairs.size();
    known_.emplace(fresh[line], std::move(found[line]));
  }
  outcome.pairs = Named(Summed(std::move(pairs)));
  return outcome;
}

std::uint64_t ReplayedScene::MissesUnder(const Plan& plan, std::uint32_t line_bytes) {
  if (plan.sharding) throw std::invalid_argument("misses of shards are counted by window");
  const Relocated places(scene_, plan, line_bytes);
  const std::lock_guard lock(mutex_);
  if (line_bytes != misses_line_bytes_ || misses_.size() >= kMostCounts) misses_ = {};
  misses_line_bytes_ = line_bytes;
  std::uint64_t sum = 0;
  std::vector<Content> fresh;
  std::vector<std::uint32_t> chosen(places.lines(), kNotChosen);
  const std::vector<Content> contents = ContentsOf(places);
  for (std::size_t line = 0; line < contents.size(); ++line) {
    if (contents[line] == Content{}) continue;
    if (const std::uint64_t* found = misses_.Find(contents[line])) {
      sum += *found;
    } else {
      chosen[line] = static_cast<std::uint32_t>(fresh.size());
      fresh.push_back(contents[line]);
    }
  }
  if (fresh.empty()) return sum;
  struct Line {
    std::uint64_t holders = 0;
    std::uint64_t misses = 0;
  };
  std::vector<Line> lines(fresh.size());
  Go(places, chosen, static_cast<std::uint32_t>(fresh.size()), false,
     [&](std::uint32_t event, const Bytes& bytes) {
       Line& line = lines[bytes.line];
       const ShortEvent& step = scene_.short_events()[event];
       line.misses += MissesAndChanges(line.holders, step.cpu, step.stores);
     });
  for (std::size_t line = 0; line < fresh.size(); ++line) {
    if (misses_.size() < kMostCounts) misses_.Add(fresh[line], lines[line].misses);
    sum += lines[line].misses;
  }
  return sum;
}

}  // namespace linesmith::replay
