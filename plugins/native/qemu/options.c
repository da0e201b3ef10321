// SPDX-License-Identifier: GPL-2.0-or-later
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const ring_words[] = {"kernel", "user", "both", NULL};
static const char *const interleave_words[] = {"exact", "turns", "host", NULL};
static const char *const region_words[] = {"marker", "symbol", "all", NULL};

/** What the text of an option is read as, and where it goes. */
struct option {
  const char *name;
  bool (*read)(const struct option *option, struct options *options, const char *text);
  size_t place;  // offset in struct options
  const char *const *words;
  uint64_t least;
  uint64_t most;
  const char *expected;
};

static void *place_of(const struct option *option, struct options *options) {
  return (char *)options + option->place;
}

static bool parse_number(const char *text, int base, char **end, uint64_t *value) {
  errno = 0;
  *value = strtoull(text, end, base);
  // strtoull takes signs and blanks that no option means.
  return text[0] >= '0' && *end != text && !errno;
}

static bool read_text(const struct option *option, struct options *options, const char *text) {
  memcpy(place_of(option, options), &text, sizeof text);
  return *text;
}

static bool read_number64(const struct option *option, struct options *options, const char *text) {
  uint64_t value = 0;
  char *end = NULL;
  bool whole = parse_number(text, 10, &end, &value) && !*end;
  memcpy(place_of(option, options), &value, sizeof value);
  return whole && value >= option->least && value <= option->most;
}

static bool read_number32(const struct option *option, struct options *options, const char *text) {
  uint64_t value = 0;
  char *end = NULL;
  bool whole = parse_number(text, 10, &end, &value) && !*end;
  uint32_t narrow = (uint32_t)value;
  memcpy(place_of(option, options), &narrow, sizeof narrow);
  return whole && value >= option->least && value <= option->most;
}

static bool read_address(const struct option *option, struct options *options, const char *text) {
  char *end = NULL;
  uint64_t value = strtoull(text, &end, 16);
  memcpy(place_of(option, options), &value, sizeof value);
  return end != text && !*end && value;
}

static bool read_word(const struct option *option, struct options *options, const char *text) {
  for (int i = 0; option->words[i]; i++) {
    if (strcmp(text, option->words[i])) continue;
    memcpy(place_of(option, options), &i, sizeof i);
    return true;
  }
  return false;
}

/** Numbers of nodes, one per CPU; QEMU passes a comma on only where it is doubled, so colons do as well. */
static bool read_nodes(const struct option *option, struct options *options, const char *text) {
  uint8_t *nodes = place_of(option, options);
  for (options->nodes = 0; options->nodes < COHERENCE_MAX_CPUS;) {
    uint64_t node = 0;
    char *end = NULL;
    if (!parse_number(text, 10, &end, &node) || node > option->most) return false;
    nodes[options->nodes++] = (uint8_t)node;
    if (!*end) return true;
    if (*end != ',' && *end != ':') return false;
    text = end + 1;
  }
  return false;
}

#define PLACE(member) offsetof(struct options, member)
#define A_NUMBER "a whole number from 1 on"

static const struct option known[] = {
    {"out", read_text, PLACE(out), NULL, 0, 0, "a file name"},
    {"trace", read_text, PLACE(trace), NULL, 0, 0, "a file name"},
    {"trace_bytes", read_number64, PLACE(trace_bytes), NULL, 1, UINT64_MAX, A_NUMBER},
    {"quantum", read_number64, PLACE(quantum), NULL, 1, UINT32_MAX, "a number of instructions from 1 on"},
    {"seed", read_number64, PLACE(seed), NULL, 0, UINT64_MAX, "a whole number"},
    {"ring", read_word, PLACE(ring), ring_words, 0, 0, "kernel, user or both"},
    {"interleave", read_word, PLACE(interleave), interleave_words, 0, 0, "exact, turns or host"},
    {"region", read_word, PLACE(region), region_words, 0, 0, "marker, symbol or all"},
    {"start", read_address, PLACE(start), NULL, 0, 0, "a hexadecimal address"},
    {"stop", read_address, PLACE(stop), NULL, 0, 0, "a hexadecimal address"},
    {"nodes", read_nodes, PLACE(coherence.node_of_cpu), NULL, 0, UINT8_MAX,
     "the node of each CPU, 0 to 255, separated by colons"},
    {"line_bytes", read_number32, PLACE(coherence.line_bytes), NULL, 64, 256, "64, 128 or 256"},
    {"cache_bytes", read_number64, PLACE(coherence.cache_bytes), NULL, 0, UINT64_MAX, "a number of bytes"},
    {"ways", read_number32, PLACE(coherence.cache_ways), NULL, 1, UINT16_MAX, A_NUMBER},
    {"adjacent", read_number32, PLACE(coherence.adjacent), NULL, 0, 1, "0 or 1"},
    {"max_lines", read_number64, PLACE(coherence.max_lines), NULL, 1, UINT32_MAX, A_NUMBER},
    {"max_contended", read_number64, PLACE(coherence.max_contended), NULL, 1, UINT32_MAX, A_NUMBER},
    {"max_accesses", read_number64, PLACE(coherence.max_accesses), NULL, 0, UINT32_MAX, "a whole number"},
    {"hits_after", read_number64, PLACE(coherence.hits_after), NULL, 0, UINT32_MAX, "a whole number"},
    {"max_pairs", read_number64, PLACE(coherence.max_pairs), NULL, 0, UINT32_MAX, "a whole number"},
    {"max_callers", read_number64, PLACE(coherence.max_callers), NULL, 0, UINT32_MAX, "a whole number"},
};

/** The option called by the first `length` characters of `text`; NULL where there is none. */
static const struct option *find_option(const char *text, size_t length) {
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strlen(known[i].name) == length && !strncmp(text, known[i].name, length)) return &known[i];
  return NULL;
}

static bool read_argument(struct options *options, const char *argument, char *problem, size_t bytes) {
  const char *equals = strchr(argument, '=');
  size_t length = equals ? (size_t)(equals - argument) : strlen(argument);
  const struct option *option = find_option(argument, length);
  if (!option) {
    snprintf(problem, bytes, "there is no option \"%.*s\"; docs/simulation.md lists them", (int)length,
             argument);
    return false;
  }
  if (equals && option->read(option, options, equals + 1)) return true;
  snprintf(problem, bytes, "the option %s=%s must be %s", option->name, equals ? equals + 1 : "",
           option->expected);
  return false;
}

/** What is wrong between the options, or between them and the guest; NULL when nothing is. */
static const char *conflict(const struct options *options, const struct guest *guest) {
  if (!options->out) return "the option out=FILE is missing: it names the recording to write";
  if (!guest->system && options->ring != RING_USER)
    return "a program has no kernel to follow: leave ring= away or say ring=user";
  if (!guest->system && options->interleave == INTERLEAVE_EXACT)
    return "interleave=exact needs a whole machine on one thread: for a program say turns or host";
  if (options->region == REGION_SYMBOL && !options->start) return "region=symbol needs start=ADDRESS";
  if (options->region != REGION_SYMBOL && (options->start || options->stop))
    return "start= and stop= go with region=symbol only";
  if (guest->system && options->nodes && options->nodes != guest->cpus)
    return "nodes= must name the node of every virtual CPU";
  return coherence_check(&options->coherence);
}

static struct options defaults(const struct guest *guest) {
  return (struct options){
      .trace_bytes = 64ULL << 20,
      .quantum = 1000,
      .seed = 1,
      .ring = guest->system ? RING_KERNEL : RING_USER,
      .interleave = guest->system ? INTERLEAVE_EXACT : INTERLEAVE_TURNS,
      .region = REGION_MARKER,
      .coherence = coherence_default_config(guest->cpus),
  };
}

bool options_parse(struct options *options, const struct guest *guest, int count, char **arguments,
                   char *problem, size_t problem_bytes) {
  *options = defaults(guest);
  for (int i = 0; i < count; i++)
    if (!read_argument(options, arguments[i], problem, problem_bytes)) return false;
  const char *wrong = conflict(options, guest);
  if (wrong) snprintf(problem, problem_bytes, "%s", wrong);
  return !wrong;
}

const char *ring_word(enum ring ring) { return ring_words[ring]; }

const char *interleave_word(enum interleave interleave) { return interleave_words[interleave]; }

const char *region_word(enum region region) { return region_words[region]; }
