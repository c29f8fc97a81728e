// Where the releases of DPDK that the engine is built with (22.11 to 25.11) differ. No other file asks for a
// release.
#pragma once

#include <rte_telemetry.h>
#include <rte_version.h>

#include <cstdint>

namespace wt {

// From 25.07 on net_null, told to copy, never frees what it is sent (eth_null_copy_tx).
constexpr bool null_copies_lose_mbufs = RTE_VERSION >= RTE_VERSION_NUM(25, 7, 0, 0);

inline int telemetry_add_uint(rte_tel_data *to, const char *name, uint64_t value) {
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
    return rte_tel_data_add_dict_uint(to, name, value);
#else
    return rte_tel_data_add_dict_u64(to, name, value);
#endif
}

}  // namespace wt
