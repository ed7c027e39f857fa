#pragma once
// Every constant of the search, with its default and the reason for it.
#include <cstdint>
#include <vector>

#include "base/json.h"

namespace kp {

// What a run may spend. 0: no limit.
struct Budget {
  int iterations = 30;      // after the seeds; as in the paper (arXiv 2606.26453)
  std::int64_t tokens = 0;  // prompts and replies together
  double minutes = 0;       // of work; waiting for people's replies does not count
};

struct SearchOptions {
  Budget budget;

  int seeds = 15;  // 5 temperatures x 3 rounds, as in the paper
  std::vector<double> seed_temperatures = {0.2, 0.4, 0.6, 0.8, 1.0};  // in turn: careful to wild
  int candidates = 2;  // proposals an iteration, as in the paper; virtual loss spreads them

  double improve_temperature = 0.7;  // room for ideas beyond the directive
  double repair_temperature = 0.3;   // a repair has one right answer: keep to it

  // PUCT: how far visits that are few outweigh a value that is low. Rewards lie in [0, 1].
  double exploration = 1.4;
  // Value of a node = best_share x best reward below + the rest x mean reward below. One good
  // kernel is the aim, and the many broken ones around it must not hide it.
  double best_share = 0.5;
  // Prior of a broken child against a correct one: a repair costs a proposal before it can gain.
  double broken_prior = 0.5;

  // Progressive widening: children <= C * N^alpha, by the state of the node (asymmetric branching).
  double widen_c_correct = 1.5;      // 2 children at 2 visits, 3 at 4, 4 at 8: depth before breadth
  double widen_alpha_correct = 0.5;  // the usual square root
  double widen_c_broken = 1.0;       // one repair first
  double widen_alpha_broken = 0.4;   // a second one only after the first led on

  // Dead ends.
  int repairs_per_node = 2;  // more attempts on one error repeat each other
  int broken_in_a_row = 3;   // a chain of broken nodes this long leads nowhere
  int no_gain_visits = 8;    // a plateau: about every directive was tried once
  double min_gain = 1.02;    // speed-up over the node that counts as a gain: above timing noise

  // Log reward: the speed-up that earns 1 when the roofline is unknown, and the least that it is
  // taken for (a baseline at the roofline would divide by zero).
  double assumed_speed_of_light = 10.0;
  double least_speed_of_light = 1.05;

  // Calibration of a tool's predicted gains: so many imagined followers that kept the promise.
  double ledger_trust = 2.0;

  int failures_in_a_row = 3;  // of provider calls, before the run stops with the best so far
  int prompt_tokens = 24000;  // of one prompt; fits models with 32k, with room for the reply
  int attempts_shown = 12;    // earlier attempts in a prompt; older ones teach little
};

Json to_json(const Budget& budget);
Budget budget_from_json(const Json& json);
Json to_json(const SearchOptions& options);
// Missing members keep their defaults, so that older journals stay readable.
SearchOptions search_options_from_json(const Json& json);

// What does not make sense, in words ("--candidates: must be at least 1").
Status check_options(const SearchOptions& options);

}  // namespace kp
