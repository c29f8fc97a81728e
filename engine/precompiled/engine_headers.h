// Precompiled for every C++ file of the engine (meson: b_pch), since most of the build would go into reading
// these again. No file relies on it: each includes what it uses.
#include <rte_config.h>  // DPDK's flags have it included first, and a precompiled header cannot come behind
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>
