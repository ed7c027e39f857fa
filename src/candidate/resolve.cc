#include "candidate/resolve.h"

#include <fmt/format.h>

#include <limits>

#include "base/text.h"
#include "candidate/scope.h"
#include "task/check.h"

namespace kp {

namespace {

constexpr std::int64_t kMaxSteps = 100'000;
constexpr std::int64_t kMaxBufferBytes = std::int64_t{64} << 30;

// Buffers in numbers; they join the scope as storage.
Result<std::vector<ResolvedBuffer>> resolve_buffers(const Plan& plan, bool promote_real,
                                                    Scope& scope) {
  std::vector<ResolvedBuffer> buffers;
  std::int64_t total = 0;
  for (const auto& buffer : plan.buffers) {
    std::string where = "buffer " + buffer.name;
    if (scope.storage.contains(buffer.name))
      return fail(fmt::format("{}: a tensor or another buffer has this name", where));
    ResolvedBuffer out;
    out.name = buffer.name;
    out.dtype = promote_real && is_floating(buffer.dtype) ? DType::f64 : buffer.dtype;
    out.bytes = static_cast<std::int64_t>(size_of(out.dtype));
    for (const auto& expr : buffer.shape) {
      KP_ASSIGN(std::int64_t extent, scope.number(expr, 1, kMaxBufferBytes, where + ": shape"));
      out.shape.push_back(extent);
      if (extent > (kMaxBufferBytes - total) / out.bytes)
        return fail(fmt::format("{}: the plan's buffers are larger than 64 GiB", where));
      out.bytes *= extent;
    }
    if (out.bytes > kMaxBufferBytes - total)
      return fail(fmt::format("{}: the plan's buffers are larger than 64 GiB", where));
    total += out.bytes;
    scope.storage[out.name] = {out.dtype, out.shape, dense_strides(out.shape), out.bytes, {}};
    buffers.push_back(std::move(out));
  }
  return buffers;
}

class Steps {
 public:
  explicit Steps(Scope& scope) : scope_(scope) {}

  // `number` is "" or "2." inside step 2; `note` is ", t = 3" inside repeats.
  Status add(const std::vector<PlanStep>& steps, const std::string& number,
             const std::string& note) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      std::string step = fmt::format("step {}{}", number, i + 1);
      KP_TRY(count(step));
      if (const auto* kernel = std::get_if<PlanKernel>(&steps[i])) {
        KP_TRY(add_kernel(*kernel, fmt::format("{} ({}){}", step, kernel->kernel, note)));
      } else if (const auto* memset = std::get_if<PlanMemset>(&steps[i])) {
        KP_TRY(add_memset(*memset, fmt::format("{} (memset){}", step, note)));
      } else if (const auto* copy = std::get_if<PlanCopy>(&steps[i])) {
        KP_TRY(add_copy(*copy, fmt::format("{} (copy){}", step, note)));
      } else {
        KP_TRY(
            add_repeat(std::get<PlanRepeat>(steps[i]), step, number + std::to_string(i + 1), note));
      }
    }
    return {};
  }

  std::vector<ResolvedStep> take() { return std::move(steps_); }

 private:
  // Counts repeats' rounds too, so that rounds that launch nothing end as well.
  Status count(const std::string& step) {
    if (++count_ <= kMaxSteps) return {};
    return fail(fmt::format("{}: more than {} steps after unrolling", step, kMaxSteps),
                "loop inside a kernel, or do more work a launch");
  }

  Status add_repeat(const PlanRepeat& repeat, const std::string& step, const std::string& number,
                    const std::string& note) {
    std::string where = fmt::format("{} (repeat){}", step, note);
    if (scope_.sizes.contains(repeat.index) || scope_.scalars.contains(repeat.index) ||
        scope_.storage.contains(repeat.index) || scope_.tensor_maps.contains(repeat.index))
      return fail(
          fmt::format("{}: index \"{}\" already names something else", where, repeat.index));
    KP_ASSIGN(std::int64_t rounds, scope_.number(repeat.count, 0, kMaxSteps, where));
    for (std::int64_t i = 0; i < rounds; ++i) {
      KP_TRY(count(step));
      scope_.sizes[repeat.index] = i;
      KP_TRY(add(repeat.steps, number + ".", fmt::format("{}, {} = {}", note, repeat.index, i)));
    }
    scope_.sizes.erase(repeat.index);
    return {};
  }

  Status dims(const std::vector<Expr>& exprs, const char* what, const std::string& where,
              Dim3& out) {
    constexpr std::int64_t kMax = std::numeric_limits<std::uint32_t>::max();
    for (std::size_t i = 0; i < exprs.size() && i < 3; ++i) {
      KP_ASSIGN(std::int64_t value,
                scope_.number(exprs[i], 1, kMax, fmt::format("{}: {}.{}", where, what, "xyz"[i])));
      out[i] = static_cast<std::uint32_t>(value);
    }
    return {};
  }

  Status add_kernel(const PlanKernel& kernel, const std::string& where) {
    KernelLaunch launch;
    launch.kernel = kernel.kernel;
    launch.where = where;
    KP_TRY(dims(kernel.grid, "grid", where, launch.grid));
    KP_TRY(dims(kernel.block, "block", where, launch.block));
    KP_TRY(dims(kernel.cluster, "cluster", where, launch.cluster));
    KP_ASSIGN(std::int64_t smem,
              scope_.number(kernel.dynamic_smem, 0, std::numeric_limits<std::int32_t>::max(),
                            where + ": dynamic_smem"));
    launch.dynamic_smem = static_cast<std::uint32_t>(smem);
    launch.cooperative = kernel.cooperative;
    launch.programmatic_dependent_launch = kernel.programmatic_dependent_launch;
    for (std::size_t i = 0; i < kernel.args.size(); ++i) {
      KP_ASSIGN(ResolvedArg arg,
                argument(kernel.args[i], fmt::format("{}: argument {}", where, i + 1)));
      launch.args.push_back(std::move(arg));
    }
    steps_.emplace_back(std::move(launch));
    return {};
  }

  Result<ResolvedArg> argument(const std::string& arg, const std::string& where) {
    if (contains(arg, ":")) {
      KP_ASSIGN(auto value, resolve_value(arg, scope_, where));
      return ResolvedArg(std::move(value));
    }
    if (scope_.storage.contains(arg)) return ResolvedArg(PointerArg{arg});
    if (scope_.tensor_maps.contains(arg)) return ResolvedArg(TensorMapArg{arg});
    if (scope_.sizes.contains(arg))
      return fail(fmt::format("{}: \"{}\" is a size and needs a type", where, arg),
                  fmt::format("write \"i32:{0}\" or \"i64:{0}\", as the kernel declares it", arg));
    if (scope_.scalars.contains(arg))
      return fail(fmt::format("{}: \"{}\" is a scalar and needs a type", where, arg),
                  fmt::format("write \"f32:{}\", as the kernel declares it", arg));
    std::vector<std::string> known = scope_.storage_names();
    for (const auto& [name, tensor] : scope_.tensor_maps) known.push_back(name);
    return fail(fmt::format("{}: no tensor, buffer or tensor map \"{}\"{}", where, arg,
                            did_you_mean(arg, known)),
                fmt::format("known: {}; numbers are written \"i32:{}\"", join(known, ", "), 256));
  }

  Result<const Storage*> writable(const std::string& name, const std::string& where) {
    KP_ASSIGN(const Storage* storage, scope_.find(name, where));
    if (storage->role && *storage->role != Role::output)
      return fail(fmt::format("{}: {} is {} of the task and must not be written", where, name,
                              *storage->role == Role::input ? "an input" : "a parameter"),
                  "copy it into a buffer of the plan first");
    return storage;
  }

  Status add_memset(const PlanMemset& memset, const std::string& where) {
    KP_ASSIGN(const Storage* target, writable(memset.target, where));
    steps_.emplace_back(MemsetStep{memset.target, memset.value, target->bytes});
    return {};
  }

  Status add_copy(const PlanCopy& copy, const std::string& where) {
    KP_ASSIGN(const Storage* from, scope_.find(copy.from, where));
    KP_ASSIGN(const Storage* to, writable(copy.to, where));
    if (copy.from == copy.to)
      return fail(fmt::format("{}: {} is copied to itself", where, copy.to));
    if (from->bytes != to->bytes)
      return fail(fmt::format("{}: {} has {} bytes, {} has {}", where, copy.from, from->bytes,
                              copy.to, to->bytes),
                  "a copy needs the same number of bytes");
    steps_.emplace_back(CopyStep{copy.from, copy.to, to->bytes});
    return {};
  }

  Scope& scope_;
  std::vector<ResolvedStep> steps_;
  std::int64_t count_ = 0;
};

// Names of tensors and buffers that some step may write.
std::set<std::string> touched(const std::vector<ResolvedStep>& steps, const Scope& scope) {
  std::set<std::string> names;
  for (const auto& step : steps) {
    if (const auto* memset = std::get_if<MemsetStep>(&step)) names.insert(memset->target);
    if (const auto* copy = std::get_if<CopyStep>(&step)) names.insert(copy->to);
    const auto* launch = std::get_if<KernelLaunch>(&step);
    if (launch == nullptr) continue;
    for (const auto& arg : launch->args) {
      if (const auto* pointer = std::get_if<PointerArg>(&arg)) names.insert(pointer->name);
      if (const auto* map = std::get_if<TensorMapArg>(&arg))
        names.insert(scope.tensor_maps.at(map->name));
    }
  }
  return names;
}

}  // namespace

Result<ResolvedPlan> resolve(const Plan& plan, const Task& task, bool promote_real) {
  Scope scope = scope_of(task, promote_real);
  ResolvedPlan out;
  KP_ASSIGN(out.buffers, resolve_buffers(plan, promote_real, scope));
  for (const auto& map : plan.tensor_maps) {
    if (scope.storage.contains(map.name) || scope.tensor_maps.contains(map.name))
      return fail(
          fmt::format("tensor map {}: a tensor, buffer or another map has this name", map.name));
    KP_ASSIGN(auto resolved, resolve_tensor_map(map, scope));
    out.tensor_maps.push_back(std::move(resolved));
    scope.tensor_maps[map.name] = map.tensor;
  }
  Steps steps(scope);
  KP_TRY(steps.add(plan.steps, "", ""));
  out.steps = steps.take();

  std::set<std::string> written = touched(out.steps, scope);
  for (const auto& tensor : task.tensors) {
    if (tensor.role != Role::output || tensor.elements() == 0 || written.contains(tensor.name))
      continue;
    return fail(fmt::format("output {} is never written: no step takes it", tensor.name),
                fmt::format("pass \"{}\" to a kernel that writes it", tensor.name));
  }
  return out;
}

}  // namespace kp
