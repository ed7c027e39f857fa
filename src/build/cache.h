#pragma once
// The content-addressed cache of builds. An entry is a folder <cache>/<2 digits>/<key>/ that holds
// build.json, kernel.cubin (of good builds) and source.cu. It appears by one rename, whole or not
// at all, so that any number of processes may build the same thing at once.
#include <optional>
#include <string>

#include "base/files.h"
#include "base/json.h"
#include "build/build.h"

namespace kp {

fs::path entry_folder(const fs::path& cache, const std::string& key);

// Nothing when there is no entry or it is damaged (cubin cut, JSON unreadable).
std::optional<Build> read_entry(const fs::path& cache, const std::string& key);

// Takes build.cubin (anywhere on the machine) into the cache and points build.cubin there. When
// another process was faster, its entry stands.
Status publish_entry(const fs::path& cache, Build& build);

// Makes the cache folder, or says what to do.
Status prepare_cache(const fs::path& cache);

}  // namespace kp
