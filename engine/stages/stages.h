// The stages: one function each, over a burst (core/stage.h).
#pragma once

#include "core/stage.h"

namespace wt {

struct application;

// Role: application.
call_result app_tx(void *role, const stage_call &call);            // client
call_result app_rx_responses(void *role, const stage_call &call);  // client
call_result app_rx_requests(void *role, const stage_call &call);   // server

// Role: dispatcher.
call_result disp_tx_client(void *role, const stage_call &call);
call_result disp_tx_server(void *role, const stage_call &call);
call_result disp_rx(void *role, const stage_call &call);
call_result disp_tx_client_by_port(void *role, const stage_call &call);  // the port computes checksums
call_result disp_tx_server_by_port(void *role, const stage_call &call);  // likewise
call_result disp_rx_by_port(void *role, const stage_call &call);         // the port has checked them
// Of a client whose server has other queues than it has itself.
call_result disp_tx_client_spread(void *role, const stage_call &call);
call_result disp_tx_client_spread_by_port(void *role, const stage_call &call);
call_result disp_tx_client_spread_ipv6(void *role, const stage_call &call);
call_result disp_tx_client_ipv6(void *role, const stage_call &call);
call_result disp_tx_server_ipv6(void *role, const stage_call &call);
call_result disp_rx_ipv6(void *role, const stage_call &call);
call_result disp_tx_unframed(void *role, const stage_call &call);  // on a wire without frames
call_result disp_rx_unframed(void *role, const stage_call &call);  // likewise

// Role: port_queue.
call_result nic_tx(void *role, const stage_call &call);
call_result nic_rx(void *role, const stage_call &call);
call_result nic_tx_in_vlan(void *role, const stage_call &call);  // tags what it sends
call_result nic_rx_in_vlan(void *role, const stage_call &call);  // takes tags off
call_result nic_rx_paced(void *role, const stage_call &call);    // plays a capture at its own times

// Prepares the views of a server application that responds in place. Called once, before the workers start.
void prepare_in_place(application &a);

}  // namespace wt
