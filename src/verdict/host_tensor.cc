#include "verdict/host_tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/half.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/rng.h"

namespace kp {

namespace {

double unit(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

template <class T>
std::vector<std::uint8_t> encode_as(const std::vector<double>& values, T (*convert)(double)) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
  parallel(values.size(), [&](std::size_t, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      T v = convert(values[i]);
      std::memcpy(bytes.data() + i * sizeof(T), &v, sizeof(T));
    }
  });
  return bytes;
}

template <class T>
std::vector<double> decode_as(const std::vector<std::uint8_t>& bytes, double (*convert)(T)) {
  std::vector<double> values(bytes.size() / sizeof(T));
  parallel(values.size(), [&](std::size_t, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      T v;
      std::memcpy(&v, bytes.data() + i * sizeof(T), sizeof(T));
      values[i] = convert(v);
    }
  });
  return values;
}

template <class T>
T cast_to(double v) {
  return static_cast<T>(v);
}
template <class T>
double cast_from(T v) {
  return static_cast<double>(v);
}

}  // namespace

std::vector<double> draw_values(const TensorSpec& tensor, std::uint64_t seed) {
  auto n = static_cast<std::size_t>(tensor.elements());
  std::uint64_t name_hash = std::stoull(sha256_hex(tensor.name).substr(0, 15), nullptr, 16);
  std::uint64_t base = mix64(seed ^ name_hash);
  const ValueRange& range = tensor.values;
  bool whole = !is_floating(tensor.dtype);
  std::vector<double> values(n);
  parallel(n, [&](std::size_t, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      double u = unit(mix64(base + 2 * i));
      double v = range.low;
      if (range.kind == ValueRange::Kind::uniform) v = range.low + u * (range.high - range.low);
      if (range.kind == ValueRange::Kind::normal) {
        double angle = 2 * std::numbers::pi * unit(mix64(base + 2 * i + 1));
        v = range.low + range.high * std::sqrt(-2 * std::log(1 - u)) * std::cos(angle);
      }
      values[i] = whole ? std::floor(v) : v;
    }
  });
  return values;
}

std::vector<std::uint8_t> encode(const std::vector<double>& values, DType type) {
  switch (type) {
    case DType::f64:
      return encode_as<double>(values, cast_to<double>);
    case DType::f32:
      return encode_as<float>(values, cast_to<float>);
    case DType::f16:
      return encode_as<std::uint16_t>(values, to_f16);
    case DType::bf16:
      return encode_as<std::uint16_t>(values, to_bf16);
    case DType::i64:
      return encode_as<std::int64_t>(values, cast_to<std::int64_t>);
    case DType::i32:
      return encode_as<std::int32_t>(values, cast_to<std::int32_t>);
    case DType::i16:
      return encode_as<std::int16_t>(values, cast_to<std::int16_t>);
    case DType::i8:
      return encode_as<std::int8_t>(values, cast_to<std::int8_t>);
    case DType::u8:
      return encode_as<std::uint8_t>(values, cast_to<std::uint8_t>);
    case DType::b8:
      return encode_as<std::uint8_t>(
          values, [](double v) { return static_cast<std::uint8_t>(v != 0 ? 1 : 0); });
    default:
      break;
  }
  KP_CHECK(!"a native tensor's type is refused by the loader");
}

std::vector<double> decode(const std::vector<std::uint8_t>& bytes, DType type) {
  switch (type) {
    case DType::f64:
      return decode_as<double>(bytes, cast_from<double>);
    case DType::f32:
      return decode_as<float>(bytes, cast_from<float>);
    case DType::f16:
      return decode_as<std::uint16_t>(bytes, from_f16);
    case DType::bf16:
      return decode_as<std::uint16_t>(bytes, from_bf16);
    case DType::i64:
      return decode_as<std::int64_t>(bytes, cast_from<std::int64_t>);
    case DType::i32:
      return decode_as<std::int32_t>(bytes, cast_from<std::int32_t>);
    case DType::i16:
      return decode_as<std::int16_t>(bytes, cast_from<std::int16_t>);
    case DType::i8:
      return decode_as<std::int8_t>(bytes, cast_from<std::int8_t>);
    case DType::u8:
    case DType::b8:
      return decode_as<std::uint8_t>(bytes, cast_from<std::uint8_t>);
    default:
      break;
  }
  KP_CHECK(!"a native tensor's type is refused by the loader");
}

}  // namespace kp
