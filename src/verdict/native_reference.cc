#include "verdict/native_reference.h"

#include <fmt/format.h>

#include "build/build.h"
#include "task/native.h"
#include "verdict/host_tensor.h"

namespace kp {

namespace {

DType promoted(DType type, bool promote) {
  return promote && is_floating(type) ? DType::f64 : type;
}

std::int64_t bytes_of(const TensorSpec& t, DType type) {
  return t.elements() * static_cast<std::int64_t>(size_of(type));
}

}  // namespace

std::string NativeReference::real_type() const {
  for (const auto& t : task_.tensors)
    if (t.role == Role::output && is_floating(t.dtype)) return std::string(cuda_name(t.dtype));
  return "float";
}

Status NativeReference::prepare() {
  KP_ASSIGN(fs::path path, native_reference_path(task_));
  KP_ASSIGN(Candidate candidate, load_candidate(path));
  for (bool promote : {false, true}) {
    BuildOptions options;
    options.arch = device_.info().arch();
    options.defines = {std::string("real=") + (promote ? "double" : real_type())};
    Compiled& compiled = promote ? truth_ : baseline_;
    KP_ASSIGN(compiled.plan, resolve(candidate.plan, task_, promote));
    KP_ASSIGN(Build built, build(candidate, options));
    if (!built.ok)
      return fail(fmt::format("{}: the reference does not compile with -D{}:\n{}", path.string(),
                              options.defines[0], describe_diagnostics(built, 5)),
                  "a native reference writes `real` for its floating type");
    std::vector<KernelParams> kernels;
    for (const auto& k : built.kernels) kernels.push_back(k.params);
    KP_TRY(check_plan(compiled.plan, kernels, device_.info().limits));
    KP_ASSIGN(compiled.cubin, read_file(built.cubin));
  }
  return {};
}

NativeReference::Values NativeReference::values_of(const TensorSpec& t, std::uint64_t seed,
                                                   Variant variant) const {
  Values values = draw_values(t, t.role == Role::parameter ? init_seed_ : seed);
  values = decode(encode(values, t.dtype), t.dtype);
  if (variant == Variant::own || t.role == Role::parameter) return values;
  vary(values, t.dtype, variant, seed);
  return decode(encode(values, t.dtype), t.dtype);
}

DeviceResult<NativeReference::Memory> NativeReference::upload_inputs(std::uint64_t seed,
                                                                     Variant variant,
                                                                     bool promote) {
  Memory memory;
  for (const auto& t : task_.tensors) {
    if (t.role == Role::output) continue;
    DType type = promoted(t.dtype, promote);
    DeviceStatus status;
    auto pointer = device_.allocate(bytes_of(t, type));
    if (pointer) {
      memory[t.name] = *pointer;
      std::vector<std::uint8_t> bytes = encode(values_of(t, seed, variant), type);
      status = device_.upload(*pointer, bytes.data(), static_cast<std::int64_t>(bytes.size()));
    } else {
      status = tl::make_unexpected(pointer.error());
    }
    if (!status) {
      free_all(memory);
      return tl::make_unexpected(status.error());
    }
  }
  return memory;
}

void NativeReference::free_all(Memory& memory) {
  for (auto& [name, pointer] : memory) device_.free(pointer);
  memory.clear();
}

DeviceStatus NativeReference::allocate_outputs(bool promote, Addresses& addresses, Memory& own) {
  for (const auto& t : task_.tensors) {
    if (t.role != Role::output) continue;
    auto pointer = device_.allocate(bytes_of(t, promoted(t.dtype, promote)));
    if (!pointer) return tl::make_unexpected(pointer.error());
    addresses[t.name] = own[t.name] = *pointer;
  }
  for (const auto& b : (promote ? truth_ : baseline_).plan.buffers) {
    auto pointer = device_.allocate(b.bytes);
    if (!pointer) return tl::make_unexpected(pointer.error());
    addresses[b.name] = own[b.name] = *pointer;
  }
  return {};
}

DeviceResult<std::unique_ptr<Device::Program>> NativeReference::load(bool promote,
                                                                     Addresses& addresses,
                                                                     Memory& own) {
  if (auto s = allocate_outputs(promote, addresses, own); !s) return tl::make_unexpected(s.error());
  const Compiled& compiled = promote ? truth_ : baseline_;
  return device_.load(compiled.cubin, compiled.plan, addresses);
}

DeviceResult<std::unique_ptr<Device::Program>> NativeReference::load_baseline(const Memory& inputs,
                                                                              Memory& own) {
  Addresses addresses(inputs.begin(), inputs.end());
  return load(false, addresses, own);
}

DeviceResult<std::map<std::string, NativeReference::Values>> NativeReference::run(
    const Memory& inputs, bool promote) {
  Addresses addresses(inputs.begin(), inputs.end());
  Memory own;
  auto result = run_on(addresses, own, promote);
  free_all(own);
  return result;
}

DeviceResult<std::map<std::string, NativeReference::Values>> NativeReference::run_on(
    Addresses& addresses, Memory& own, bool promote) {
  auto program = load(promote, addresses, own);
  if (!program) return tl::make_unexpected(program.error());
  if (auto s = (*program)->run(); !s) return tl::make_unexpected(s.error());
  std::map<std::string, Values> outputs;
  for (const auto& t : task_.tensors) {
    if (t.role != Role::output) continue;
    auto values = download(addresses[t.name], t, promoted(t.dtype, promote));
    if (!values) return tl::make_unexpected(values.error());
    outputs[t.name] = std::move(*values);
  }
  return outputs;
}

DeviceResult<NativeReference::Values> NativeReference::download(DevicePtr from, const TensorSpec& t,
                                                                DType type) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(bytes_of(t, type)));
  if (auto s = device_.download(bytes.data(), from, static_cast<std::int64_t>(bytes.size())); !s)
    return tl::make_unexpected(s.error());
  return decode(bytes, type);
}

}  // namespace kp
