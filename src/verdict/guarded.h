#pragma once
// The runner's memory of one candidate: inputs, outputs and buffers between guard zones, and the
// state that a candidate could otherwise carry from one run to the next.
//
// Before a fresh run outputs, buffers and guards are filled with a pattern that is a NaN in every
// floating type and another one each time; shared and local memory are overwritten. After a run
// the guards must hold the pattern and the inputs' checksums must be as they were.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "device/device.h"

namespace kp {

class GuardedMemory {
 public:
  explicit GuardedMemory(Device& device)
      : device_(device), rng_(secret_seed()), key_(rng_.next()) {}
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory();

  enum class Kind { input, output, buffer };
  struct Piece {
    std::string name;
    std::int64_t bytes = 0;
  };
  // Makes this the memory of a kind. A piece whose size stays keeps its place. Says whether any
  // address changed.
  DeviceResult<bool> place(Kind kind, const std::vector<Piece>& pieces);
  void release(Kind kind);

  // The place of a piece; 0 when there is none.
  DevicePtr at(Kind kind, const std::string& name) const;
  Addresses addresses() const;  // of everything
  struct Memory {
    DevicePtr allocation = 0;
    DevicePtr at = 0;        // where the piece begins, kGuard or more bytes later
    std::int64_t bytes = 0;  // of the piece
  };
  using Pool = std::map<std::string, Memory>;
  const Pool& pieces(Kind kind) const { return pools_[static_cast<std::size_t>(kind)]; }
  static constexpr std::int64_t kGuard = 4096;  // bytes, on either side of every piece

  // The kernels of assets/cuda/support.cu. Without them fill_fresh uses plain fills and the
  // checks find nothing: profiling shows the candidate's kernels alone then.
  void use_support(std::string cubin) { support_ = std::move(cubin); }
  bool checks() const { return !support_.empty(); }

  // Largest local-memory frame of the candidate's kernels, bytes a thread: so much is overwritten.
  static constexpr std::uint32_t kMaxLocal = 16384;
  void set_local_bytes(std::uint32_t bytes);

  DeviceStatus prepare();          // the tables, once after a change; fills when it makes them
  DeviceStatus fill_fresh();       // all that a candidate may write, and the guards
  DeviceStatus remember_inputs();  // as they are now
  struct After {
    std::vector<std::uint64_t> output_sums;  // one an output, in order of names
    std::vector<std::string> broken_guards;  // "y (before its start)"
  };
  DeviceResult<After> look();                               // after a run
  DeviceResult<std::vector<std::string>> changed_inputs();  // since remember_inputs

 private:
  struct Region {
    DevicePtr address = 0;
    std::uint64_t bytes = 0;
  };

  Pool& pool(Kind kind) { return pools_[static_cast<std::size_t>(kind)]; }
  KernelLaunch launch(const std::string& kernel, const std::vector<Region>& regions,
                      std::vector<ResolvedArg> args) const;
  DeviceResult<std::vector<std::uint64_t>> run_checks(Device::Program& program, std::size_t count);
  void drop();

  Device& device_;
  Rng rng_;
  std::uint64_t key_;  // of the checksums; never in the candidate's reach
  std::string support_;
  std::uint32_t local_bytes_ = 0;
  Pool pools_[3];

  // Made on first use after the memory changed.
  bool ready_ = false;
  DevicePtr tables_ = 0;   // regions: outputs and buffers, guards, outputs, inputs
  DevicePtr results_ = 0;  // 8 bytes a region of the largest table
  DevicePtr pattern_ = 0;  // 4 bytes
  std::vector<std::string> guard_names_;
  std::size_t outputs_ = 0;
  std::unique_ptr<Device::Program> fill_, after_, inputs_;
  std::vector<std::uint64_t> clean_;  // the inputs' checksums
};

}  // namespace kp
