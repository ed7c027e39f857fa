// Tensor maps in numbers. The rules are those of cuTensorMapEncodeTiled (CUDA driver API, "Tensor
// Map Object Management"), checked here so that the message names the plan's own words.
#include <fmt/format.h>

#include <algorithm>

#include "candidate/scope.h"
#include "task/check.h"

namespace kp {

namespace {

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 32;
constexpr std::int64_t kMaxStrideBytes = (std::int64_t{1} << 40) - 1;
constexpr std::int64_t kMaxBox = 256;

Result<std::vector<std::int64_t>> numbers(const std::vector<Expr>& exprs, std::int64_t low,
                                          std::int64_t high, const Scope& scope,
                                          const std::string& where) {
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < exprs.size(); ++i) {
    KP_ASSIGN(std::int64_t value,
              scope.number(exprs[i], low, high, fmt::format("{}[{}]", where, i)));
    out.push_back(value);
  }
  return out;
}

// Extents and strides, innermost first; strides[0] is 1.
struct Layout {
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> strides;
};

Result<Layout> layout_of(const PlanTensorMap& map, const Storage& storage, const Scope& scope,
                         const std::string& where) {
  Layout own{{storage.shape.rbegin(), storage.shape.rend()},
             {storage.strides.rbegin(), storage.strides.rend()}};
  Layout layout = own;
  if (!map.dims.empty()) {
    KP_ASSIGN(layout.dims, numbers(map.dims, 1, kMaxExtent, scope, where + ": dims"));
  }
  std::size_t rank = layout.dims.size();
  if (rank < 1 || rank > 5)
    return fail(fmt::format("{}: {} dimensions, a tensor map has 1 to 5", where, rank),
                "give \"dims\" (and \"strides\"), innermost first");
  if (!map.strides.empty() || (!map.dims.empty() && rank == 1)) {
    KP_ASSIGN(auto strides, numbers(map.strides, 0, kMaxStrideBytes, scope, where + ": strides"));
    if (strides.size() != rank - 1)
      return fail(fmt::format("{}: {} strides for {} dimensions, expected {}", where,
                              strides.size(), rank, rank - 1),
                  "strides are those of dims 1 and on: dim 0 is dense");
    layout.strides = {1};
    layout.strides.insert(layout.strides.end(), strides.begin(), strides.end());
  } else if (rank != own.dims.size()) {
    if (storage.strides != dense_strides(storage.shape))
      return fail(fmt::format("{}: {} is not contiguous, so other dims need \"strides\"", where,
                              map.tensor));
    std::vector<std::int64_t> shape(layout.dims.rbegin(), layout.dims.rend());
    std::vector<std::int64_t> dense = dense_strides(shape);
    layout.strides = {dense.rbegin(), dense.rend()};
  }
  if (layout.strides[0] != 1 && layout.dims[0] != 1)
    return fail(fmt::format("{}: the innermost dimension of {} has stride {}, not 1", where,
                            map.tensor, layout.strides[0]),
                "give \"dims\" and \"strides\" whose dim 0 is dense");
  return layout;
}

Status check_layout(const PlanTensorMap& map, const Layout& layout, const Storage& storage,
                    const std::string& where) {
  auto element = static_cast<std::int64_t>(size_of(storage.dtype));
  std::int64_t unit = map.interleave == "32B" ? 32 : 16;
  double last = static_cast<double>(layout.dims[0] - 1);
  for (std::size_t i = 0; i < layout.dims.size(); ++i) {
    if (layout.dims[i] < 1 || layout.dims[i] > kMaxExtent)
      return fail(
          fmt::format("{}: dims[{}] is {}, allowed are 1 to 2^32", where, i, layout.dims[i]));
    if (i == 0) continue;
    std::int64_t stride = layout.strides[i];
    if (stride > kMaxStrideBytes / element || (stride * element) % unit != 0)
      return fail(
          fmt::format("{}: the stride of dims[{}] is {} elements of {} bytes; strides must "
                      "be multiples of {} bytes below 2^40",
                      where, i, stride, element, unit));
    last += static_cast<double>(layout.dims[i] - 1) * static_cast<double>(stride);
  }
  if ((last + 1) * static_cast<double>(element) > static_cast<double>(storage.bytes))
    return fail(fmt::format("{}: dims and strides reach byte {:.0f} of {}, which has {} bytes",
                            where, (last + 1) * static_cast<double>(element), map.tensor,
                            storage.bytes));
  return {};
}

Status check_box(const PlanTensorMap& map, const std::vector<std::int64_t>& box,
                 const Storage& storage, std::size_t rank, const std::string& where) {
  if (box.size() != rank)
    return fail(
        fmt::format("{}: box has {} extents, the map has {} dimensions", where, box.size(), rank));
  std::int64_t inner = box[0] * static_cast<std::int64_t>(size_of(storage.dtype));
  std::int64_t span = map.swizzle == "32B"    ? 32
                      : map.swizzle == "64B"  ? 64
                      : map.swizzle == "128B" ? 128
                                              : 0;
  if (map.interleave == "none") {
    if (inner % 16 != 0)
      return fail(
          fmt::format("{}: the box's inner extent is {} x {} bytes = {}, not a multiple of "
                      "16",
                      where, box[0], size_of(storage.dtype), inner));
    if (span != 0 && inner > span)
      return fail(fmt::format("{}: the box's inner extent of {} bytes is wider than swizzle {}",
                              where, inner, map.swizzle),
                  "make box[0] smaller and use several boxes, or swizzle \"none\"");
    return {};
  }
  if (rank < 3) return fail(where + ": interleave needs at least 3 dimensions");
  if (map.interleave == "32B" && map.swizzle != "32B")
    return fail(where + ": interleave 32B needs swizzle 32B");
  return {};
}

}  // namespace

Result<ResolvedTensorMap> resolve_tensor_map(const PlanTensorMap& map, const Scope& scope) {
  std::string where = "tensor map " + map.name;
  KP_ASSIGN(const Storage* storage, scope.find(map.tensor, where));
  if (storage->dtype == DType::c64 || storage->dtype == DType::c128)
    return fail(fmt::format("{}: tensor maps cannot hold {}", where, name_of(storage->dtype)));
  KP_ASSIGN(Layout layout, layout_of(map, *storage, scope, where));
  KP_TRY(check_layout(map, layout, *storage, where));
  KP_ASSIGN(auto box, numbers(map.box, 1, kMaxBox, scope, where + ": box"));
  KP_TRY(check_box(map, box, *storage, layout.dims.size(), where));
  if (map.nan_fill && !is_floating(storage->dtype))
    return fail(
        fmt::format("{}: nan_fill is for floating types, not {}", where, name_of(storage->dtype)));

  ResolvedTensorMap out;
  out.name = map.name;
  out.tensor = map.tensor;
  out.dtype = storage->dtype;
  for (std::size_t i = 0; i < layout.dims.size(); ++i) {
    out.dims.push_back(static_cast<std::uint64_t>(layout.dims[i]));
    out.box.push_back(static_cast<std::uint32_t>(box[i]));
    if (i > 0)
      out.stride_bytes.push_back(static_cast<std::uint64_t>(layout.strides[i]) *
                                 size_of(storage->dtype));
  }
  out.swizzle = map.swizzle;
  out.l2_promotion = map.l2_promotion;
  out.interleave = map.interleave;
  out.nan_fill = map.nan_fill;
  return out;
}

}  // namespace kp
