#include "build/cubin.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "base/text.h"

namespace kp {

namespace {

constexpr std::uint16_t kMachineCuda = 190;
constexpr std::uint32_t kTypeCudaInfo = 0x70000000;
constexpr std::uint32_t kReservedSmem = 1024;  // driver's own, in each block from sm_90 on

enum Attribute : std::uint8_t {
  kMaxThreads = 0x05,
  kRequiredThreads = 0x10,
  kFrameSize = 0x11,
  kMinStackSize = 0x12,
  kParamInfo = 0x17,
  kRegisterCount = 0x2f,
  kBlocksPerCluster = 0x3d,
  kParamInfoV2 = 0x45,  // parameters of more than 4 KiB in all
  kNumBarriers = 0x4c,
};

class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  bool read(std::uint64_t at, T& value) const {
    if (at > bytes_.size() || bytes_.size() - at < sizeof(T)) return false;
    std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return true;
  }

  std::optional<std::string_view> part(std::uint64_t at, std::uint64_t size) const {
    if (at > bytes_.size() || bytes_.size() - at < size) return std::nullopt;
    return bytes_.substr(at, size);
  }

 private:
  std::string_view bytes_;
};

// The text at `at` of a string table, up to its zero.
std::optional<std::string> string_at(std::string_view table, std::uint64_t at) {
  if (at >= table.size()) return std::nullopt;
  std::size_t end = table.find('\0', at);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(table.substr(at, end - at));
}

struct Section {
  std::string name;
  Elf64_Shdr header{};
  std::string_view bytes;  // empty for NOBITS
};

Result<std::vector<Section>> read_sections(const Bytes& file) {
  Elf64_Ehdr header{};
  if (!file.read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return fail("cubin: not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != kMachineCuda)
    return fail(fmt::format("cubin: not a 64-bit CUDA ELF file (machine {})", header.e_machine));
  if (header.e_shentsize != sizeof(Elf64_Shdr))
    return fail(fmt::format("cubin: section headers of {} bytes", header.e_shentsize));
  std::vector<Section> sections(header.e_shnum);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    Section& s = sections[i];
    if (header.e_shoff > UINT64_MAX - i * sizeof(Elf64_Shdr) ||
        !file.read(header.e_shoff + i * sizeof(Elf64_Shdr), s.header))
      return fail(fmt::format("cubin: section header {} lies outside the file", i));
    if (s.header.sh_type == SHT_NOBITS || s.header.sh_type == SHT_NULL) continue;
    auto bytes = file.part(s.header.sh_offset, s.header.sh_size);
    if (!bytes) return fail(fmt::format("cubin: section {} lies outside the file", i));
    s.bytes = *bytes;
  }
  if (header.e_shstrndx >= sections.size()) return fail("cubin: no table of section names");
  std::string_view names = sections[header.e_shstrndx].bytes;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    auto name = string_at(names, sections[i].header.sh_name);
    if (!name) return fail(fmt::format("cubin: section {} has no name", i));
    sections[i].name = *name;
  }
  return sections;
}

struct Symbol {
  std::string name;
  Elf64_Sym entry{};
};

std::vector<Symbol> read_symbols(const std::vector<Section>& sections) {
  std::vector<Symbol> symbols;
  for (const Section& s : sections) {
    if (s.header.sh_type != SHT_SYMTAB || s.header.sh_link >= sections.size()) continue;
    std::string_view names = sections[s.header.sh_link].bytes;
    Bytes table(s.bytes);
    Elf64_Sym entry{};
    for (std::uint64_t at = 0; table.read(at, entry); at += sizeof entry)
      symbols.push_back({string_at(names, entry.st_name).value_or(""), entry});
    break;
  }
  return symbols;
}

// One record of a .nv.info section. Formats 1 to 3 carry at most 2 bytes, format 4 its own size.
struct Record {
  std::uint8_t attribute = 0;
  std::uint16_t value = 0;
  std::string_view payload;
};

template <class Visit>
Status for_each_record(const Section& section, Visit visit) {
  Bytes bytes(section.bytes);
  std::uint64_t at = 0;
  while (at < section.bytes.size()) {
    std::uint8_t format = 0;
    Record r;
    if (!bytes.read(at, format) || !bytes.read(at + 1, r.attribute) ||
        !bytes.read(at + 2, r.value) || format < 1 || format > 4)
      return fail(fmt::format("cubin: {}: bad record at byte {}", section.name, at));
    at += 4;
    if (format == 2) r.value &= 0xff;
    if (format == 4) {
      auto payload = bytes.part(at, r.value);
      if (!payload)
        return fail(fmt::format("cubin: {}: record at byte {} is cut off", section.name, at - 4));
      r.payload = *payload;
      at += r.value;
    }
    visit(r);
  }
  return {};
}

void read_kernel_record(const Record& r, CubinKernel& kernel,
                        std::map<std::uint16_t, CubinParam>& params) {
  Bytes payload(r.payload);
  std::uint32_t dims[3] = {};
  switch (r.attribute) {
    case kParamInfo:
    case kParamInfoV2: {
      std::uint16_t ordinal = 0, offset = 0;
      std::uint32_t word = 0;
      if (!payload.read(4, ordinal) || !payload.read(6, offset) || !payload.read(8, word)) return;
      // The older form packs alignment, space and bank below the size.
      params[ordinal] = {offset, r.attribute == kParamInfo ? word >> 18 : word};
      return;
    }
    case kMaxThreads:
    case kRequiredThreads:
      if (payload.read(0, dims))
        kernel.max_threads = static_cast<std::uint32_t>(std::min<std::uint64_t>(
            std::uint64_t{dims[0]} * std::max(dims[1], 1U) * std::max(dims[2], 1U), UINT32_MAX));
      return;
    case kBlocksPerCluster:
      if (payload.read(0, dims)) std::copy(dims, dims + 3, kernel.required_cluster);
      return;
    case kNumBarriers:
      kernel.barriers = r.value;
      return;
    default:
      return;
  }
}

}  // namespace

Result<std::vector<CubinKernel>> parse_cubin(std::string_view bytes) {
  KP_ASSIGN(std::vector<Section> sections, read_sections(Bytes(bytes)));
  std::vector<Symbol> symbols = read_symbols(sections);
  const std::string kInfo = ".nv.info.";
  const std::string kShared = ".nv.shared.";
  bool reserves = false;
  std::map<std::string, CubinKernel> kernels;
  for (const Section& s : sections) {
    reserves = reserves || s.name == kShared + "reserved.0";
    // Device functions have .nv.info too, but only kernels have a constant bank of parameters.
    if (starts_with(s.name, ".nv.constant0."))
      kernels[s.name.substr(14)].symbol = s.name.substr(14);
  }
  for (const Section& s : sections) {
    if (s.header.sh_type == kTypeCudaInfo && starts_with(s.name, kInfo)) {
      auto it = kernels.find(s.name.substr(kInfo.size()));
      if (it == kernels.end()) continue;
      std::map<std::uint16_t, CubinParam> params;
      KP_TRY(
          for_each_record(s, [&](const Record& r) { read_kernel_record(r, it->second, params); }));
      std::uint32_t next = 0;
      for (const auto& [ordinal, param] : params) {
        if (ordinal != next++)
          return fail(fmt::format("cubin: {}: parameter {} is missing", s.name, next - 1));
        it->second.params.push_back(param);
      }
    } else if (starts_with(s.name, kShared)) {
      auto it = kernels.find(s.name.substr(kShared.size()));
      if (it != kernels.end())
        it->second.static_smem =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(s.header.sh_size, UINT32_MAX));
    }
  }
  for (const Section& s : sections) {
    if (s.header.sh_type != kTypeCudaInfo || s.name != ".nv.info") continue;
    KP_TRY(for_each_record(s, [&](const Record& r) {
      std::uint32_t symbol = 0, value = 0;
      if (!Bytes(r.payload).read(0, symbol) || !Bytes(r.payload).read(4, value) ||
          symbol >= symbols.size())
        return;
      auto it = kernels.find(symbols[symbol].name);
      if (it == kernels.end()) return;
      if (r.attribute == kRegisterCount) it->second.registers = value;
      if (r.attribute == kFrameSize || r.attribute == kMinStackSize)
        it->second.stack_bytes = std::max(it->second.stack_bytes, value);
    }));
  }
  std::vector<CubinKernel> result;
  for (auto& [symbol, kernel] : kernels) {
    if (reserves && kernel.static_smem >= kReservedSmem) kernel.static_smem -= kReservedSmem;
    result.push_back(std::move(kernel));
  }
  return result;
}

Result<CubinState> parse_cubin_state(std::string_view bytes) {
  KP_ASSIGN(std::vector<Section> sections, read_sections(Bytes(bytes)));
  CubinState state;
  for (const Symbol& symbol : read_symbols(sections)) {
    if (symbol.entry.st_shndx == SHN_UNDEF) {
      state.heap = state.heap || symbol.name == "malloc" || symbol.name == "free";
      continue;
    }
    if (ELF64_ST_TYPE(symbol.entry.st_info) != STT_OBJECT ||
        symbol.entry.st_shndx >= sections.size() || symbol.entry.st_size == 0)
      continue;
    const std::string& section = sections[symbol.entry.st_shndx].name;
    if (starts_with(section, ".nv.global") || section == ".nv.constant3")
      state.globals.push_back(symbol.name);
  }
  return state;
}

}  // namespace kp
