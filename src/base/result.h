#pragma once
// Result<T>: a value, or an Error that says what happened and what to do next.
//
// Three kinds of failure exist. What the environment or the user did wrong is a Result. What a
// candidate did wrong is a Verdict, never an Error. A bug of ours is a KP_CHECK.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace kp {

struct Error {
  std::string message;  // what happened and where: "tasks/relu.py:12: no class Model"
  std::string hint;     // what to do next; may be empty

  std::string text() const { return hint.empty() ? message : message + "\n  -> " + hint; }
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = tl::expected<void, Error>;

inline tl::unexpected<Error> fail(std::string message, std::string hint = "") {
  return tl::unexpected<Error>(Error{std::move(message), std::move(hint)});
}

}  // namespace kp

#define KP_CONCAT_(a, b) a##b
#define KP_CONCAT(a, b) KP_CONCAT_(a, b)

// KP_ASSIGN(auto x, expression): x = *expression, or returns its Error from this function.
#define KP_ASSIGN(lhs, expr) KP_ASSIGN_(KP_CONCAT(kp_result_, __LINE__), lhs, expr)
#define KP_ASSIGN_(tmp, lhs, expr)                              \
  auto tmp = (expr);                                            \
  if (!tmp) return tl::make_unexpected(std::move(tmp).error()); \
  lhs = std::move(*tmp)

// KP_TRY(expression): returns the Error of a Status (or of a Result whose value is not wanted).
#define KP_TRY(expr)                                             \
  do {                                                           \
    if (auto kp_status_ = (expr); !kp_status_)                   \
      return tl::make_unexpected(std::move(kp_status_).error()); \
  } while (false)

// KP_CHECK(condition): a bug of ours ends the process with the place.
#define KP_CHECK(cond)                                                                             \
  do {                                                                                             \
    if (!(cond)) {                                                                                 \
      std::fprintf(stderr, "kernelpro: internal error at %s:%d: %s\n", __FILE__, __LINE__, #cond); \
      std::abort();                                                                                \
    }                                                                                              \
  } while (false)
