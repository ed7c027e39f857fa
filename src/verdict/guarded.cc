#include "verdict/guarded.h"

#include <fmt/format.h>

#include <algorithm>

#include "verdict/support.h"

namespace kp {

namespace {

// All bits set but a few: NaN as f16, bf16, f32 and f64, a small negative number as an integer.
constexpr std::uint32_t kRandomBits = 0x000F003F;

// Large allocations begin on a page of 2 MiB, in PyTorch's allocator as here: where a tensor lies
// against the pages shows in its kernels' times.
constexpr std::int64_t kPage = 2 << 20;

std::int64_t round_up(std::int64_t bytes, std::int64_t to) {
  return (bytes + to - 1) / to * to;
}

}  // namespace

GuardedMemory::~GuardedMemory() {
  drop();
  for (Kind kind : {Kind::input, Kind::output, Kind::buffer}) release(kind);
}

void GuardedMemory::drop() {
  ready_ = false;
  fill_.reset();
  after_.reset();
  inputs_.reset();
  for (DevicePtr* p : {&tables_, &results_, &pattern_}) {
    device_.free(*p);
    *p = 0;
  }
}

void GuardedMemory::release(Kind kind) {
  drop();
  for (auto& [name, memory] : pool(kind)) device_.free(memory.allocation);
  pool(kind).clear();
}

DeviceResult<bool> GuardedMemory::place(Kind kind, const std::vector<Piece>& pieces) {
  Pool& known = pool(kind);
  bool changed = false;
  for (auto it = known.begin(); it != known.end();) {
    bool keep = std::any_of(pieces.begin(), pieces.end(), [&](const Piece& p) {
      return p.name == it->first && p.bytes == it->second.bytes;
    });
    if (!keep) {
      if (!changed) drop();
      changed = true;
      // Freed memory stays readable in the block that it shares with others.
      (void)device_.fill(it->second.at - kGuard, 0, it->second.bytes + 2 * kGuard);
      device_.free(it->second.allocation);
    }
    it = keep ? std::next(it) : known.erase(it);
  }
  for (const Piece& piece : pieces) {
    if (known.count(piece.name) != 0) continue;
    if (!changed) drop();
    changed = true;
    std::int64_t lead = piece.bytes >= kPage / 2 ? kPage : kGuard;
    auto pointer = device_.allocate(lead + round_up(piece.bytes, 4) + kGuard);
    if (!pointer) return tl::make_unexpected(pointer.error());
    known[piece.name] = {*pointer, *pointer + static_cast<DevicePtr>(lead), piece.bytes};
  }
  return changed;
}

DevicePtr GuardedMemory::at(Kind kind, const std::string& name) const {
  auto it = pieces(kind).find(name);
  return it == pieces(kind).end() ? 0 : it->second.at;
}

Addresses GuardedMemory::addresses() const {
  Addresses all;
  for (const Pool& p : pools_)
    for (const auto& [name, memory] : p) all[name] = memory.at;
  return all;
}

void GuardedMemory::set_local_bytes(std::uint32_t bytes) {
  if (bytes == local_bytes_) return;
  local_bytes_ = bytes;
  drop();
}

KernelLaunch GuardedMemory::launch(const std::string& kernel, const std::vector<Region>& regions,
                                   std::vector<ResolvedArg> args) const {
  std::uint64_t largest = 0;
  for (const Region& r : regions) largest = std::max(largest, r.bytes);
  auto most = static_cast<std::uint64_t>(device_.info().sms) * 8;
  auto blocks = static_cast<std::uint32_t>(std::min(most, largest / 4096 + 1));
  KernelLaunch made = support_launch(kernel, blocks, 256, std::move(args));
  made.grid[1] = static_cast<std::uint32_t>(regions.size());
  return made;
}

DeviceStatus GuardedMemory::prepare() {
  if (ready_ || !checks()) return {};
  std::vector<Region> writable, guards, outputs, inputs;
  guard_names_.clear();
  for (Kind kind : {Kind::input, Kind::output, Kind::buffer}) {
    for (const auto& [name, memory] : pool(kind)) {
      Region whole{memory.at, static_cast<std::uint64_t>(memory.bytes)};
      if (kind == Kind::input) inputs.push_back(whole);
      if (kind != Kind::input) writable.push_back(whole);
      if (kind == Kind::output) outputs.push_back(whole);
      guards.push_back({memory.at - kGuard, static_cast<std::uint64_t>(kGuard)});
      guard_names_.push_back(name + " (before its start)");
      guards.push_back({whole.address + static_cast<DevicePtr>(round_up(memory.bytes, 4)), kGuard});
      guard_names_.push_back(name + " (after its end)");
    }
  }
  outputs_ = outputs.size();
  std::vector<Region> all;
  std::size_t starts[4] = {};
  std::size_t i = 0;
  for (const auto* list : {&writable, &guards, &outputs, &inputs}) {
    starts[i++] = all.size();
    all.insert(all.end(), list->begin(), list->end());
  }
  auto bytes = [](std::size_t n, std::size_t each) { return static_cast<std::int64_t>(n * each); };
  for (auto [pointer, size] :
       {std::pair{&tables_, bytes(all.size(), sizeof(Region))},
        std::pair{&results_, bytes(all.size(), 8)}, std::pair{&pattern_, std::int64_t{4}}}) {
    auto got = device_.allocate(size);
    if (!got) return tl::make_unexpected(got.error());
    *pointer = *got;
  }
  if (auto s = device_.upload(tables_, all.data(), bytes(all.size(), sizeof(Region))); !s) return s;
  Addresses addresses{{"results", results_}, {"pattern", pattern_}};
  const ValueArg key = value_arg<std::uint64_t>(key_);
  const char* names[4] = {"writable", "guards", "outputs", "inputs"};
  for (std::size_t k = 0; k < 4; ++k) addresses[names[k]] = tables_ + starts[k] * sizeof(Region);

  auto load = [&](const ResolvedPlan& plan,
                  std::unique_ptr<Device::Program>& into) -> DeviceStatus {
    auto program = device_.load(support_, plan, addresses);
    if (!program) return tl::make_unexpected(program.error());
    into = std::move(*program);
    return {};
  };
  ResolvedPlan fill;
  for (auto [name, list] : {std::pair{"writable", &writable}, std::pair{"guards", &guards}})
    if (!list->empty())
      fill.steps.emplace_back(launch("kp_fill", *list, {PointerArg{name}, PointerArg{"pattern"}}));
  const DeviceInfo& info = device_.info();
  auto shared = static_cast<std::uint32_t>(info.smem_per_block_optin);
  KernelLaunch scrub = support_launch("kp_scrub_shared", static_cast<std::uint32_t>(info.sms), 512,
                                      {value_arg<std::uint32_t>(shared), PointerArg{"pattern"}});
  scrub.dynamic_smem = shared;
  fill.steps.emplace_back(std::move(scrub));
  if (local_bytes_ > 0) {
    auto blocks = static_cast<std::uint32_t>(info.sms * info.max_threads_per_sm / 256);
    fill.steps.emplace_back(
        support_launch(local_bytes_ <= 1024 ? "kp_scrub_local_1k" : "kp_scrub_local_16k", blocks,
                       256, {PointerArg{"pattern"}}));
  }
  if (auto s = load(fill, fill_); !s) return s;

  ResolvedPlan after;
  after.steps.emplace_back(MemsetStep{"results", 0, bytes(outputs.size() + guards.size(), 8)});
  addresses["guard results"] = results_ + outputs.size() * 8;
  if (!outputs.empty())
    after.steps.emplace_back(
        launch("kp_checksums", outputs, {PointerArg{"outputs"}, PointerArg{"results"}, key}));
  if (!guards.empty())
    after.steps.emplace_back(
        launch("kp_count_others", guards,
               {PointerArg{"guards"}, PointerArg{"pattern"}, PointerArg{"guard results"}}));
  if (auto s = load(after, after_); !s) return s;

  ResolvedPlan sums;
  sums.steps.emplace_back(MemsetStep{"results", 0, bytes(inputs.size(), 8)});
  if (!inputs.empty())
    sums.steps.emplace_back(
        launch("kp_checksums", inputs, {PointerArg{"inputs"}, PointerArg{"results"}, key}));
  if (auto s = load(sums, inputs_); !s) return s;
  // Guards hold a pattern from the start, fresh run or not.
  ready_ = true;
  return fill_fresh();
}

DeviceStatus GuardedMemory::fill_fresh() {
  if (!checks()) {
    for (Kind kind : {Kind::output, Kind::buffer})
      for (const auto& [name, memory] : pool(kind))
        if (auto s = device_.fill(memory.at, 0xFF, memory.bytes); !s) return s;
    return {};
  }
  if (!ready_) return prepare();
  std::uint32_t pattern = ~(static_cast<std::uint32_t>(rng_.next()) & kRandomBits);
  if (auto s = device_.upload(pattern_, &pattern, sizeof pattern); !s) return s;
  return fill_->run();
}

DeviceResult<std::vector<std::uint64_t>> GuardedMemory::run_checks(Device::Program& program,
                                                                   std::size_t count) {
  if (auto s = program.run(); !s) return tl::make_unexpected(s.error());
  std::vector<std::uint64_t> values(count);
  if (auto s = device_.download(values.data(), results_, static_cast<std::int64_t>(8 * count)); !s)
    return tl::make_unexpected(s.error());
  return values;
}

DeviceStatus GuardedMemory::remember_inputs() {
  if (!checks()) return {};
  if (auto s = prepare(); !s) return s;
  auto sums = run_checks(*inputs_, pool(Kind::input).size());
  if (!sums) return tl::make_unexpected(sums.error());
  clean_ = std::move(*sums);
  return {};
}

DeviceResult<GuardedMemory::After> GuardedMemory::look() {
  After after;
  if (!ready_) return after;
  auto values = run_checks(*after_, outputs_ + guard_names_.size());
  if (!values) return tl::make_unexpected(values.error());
  auto end = values->begin() + static_cast<std::ptrdiff_t>(outputs_);
  after.output_sums.assign(values->begin(), end);
  for (std::size_t i = 0; i < guard_names_.size(); ++i)
    if (*(end + static_cast<std::ptrdiff_t>(i)) != 0)
      after.broken_guards.push_back(guard_names_[i]);
  return after;
}

DeviceResult<std::vector<std::string>> GuardedMemory::changed_inputs() {
  std::vector<std::string> names;
  if (!ready_) return names;
  auto sums = run_checks(*inputs_, pool(Kind::input).size());
  if (!sums) return tl::make_unexpected(sums.error());
  std::size_t i = 0;
  for (const auto& [name, memory] : pool(Kind::input)) {
    if (i < clean_.size() && (*sums)[i] != clean_[i]) names.push_back(name);
    ++i;
  }
  return names;
}

}  // namespace kp
