#pragma once
// Precompiled headers that outlive the process. NVRTC accepts a precompiled header only when its
// heap lies at the address that it had when the header was made. So the compile process turns off
// address-space randomisation, loads NVRTC and sets the heap before anything else takes memory, and
// the address is part of the file's name: processes laid out differently do not share.
#include <string>

#include "base/files.h"
#include "build/nvrtc.h"

namespace kp {

// Starts this program again without randomisation and with the usual stack limit, unless it is so
// already. Returns when nothing more can be done: false, with randomisation still on.
bool drop_address_randomisation(const std::vector<std::string>& arguments);

// Sets NVRTC's heap for precompiled headers. The layout's fingerprint (heap and library address);
// empty when this NVRTC has none or the heap could not be made.
std::string prepare_pch_heap(const Nvrtc& nvrtc);

struct PchRequest {
  fs::path folder;     // where the files lie
  std::string prefix;  // header to precompile: "kernelpro/cute.h"
  std::string stamp;   // of everything else that decides the result: options, versions of headers
};

struct Pch {
  fs::path file;  // empty: none
  bool created = false;
  std::string why_not;  // when there is none
};

// The file for `request`, made when missing. A process that finds another one making it goes on
// without. `options` are those of the candidate's own compilation, the pre-include among them.
Pch find_or_make_pch(const Nvrtc& nvrtc, const std::string& layout, const PchRequest& request,
                     const std::vector<std::string>& options);

// Takes NVRTC's lines on precompiled headers out of `log`; true when they say that it was used.
bool strip_pch_messages(std::string& log);

}  // namespace kp
