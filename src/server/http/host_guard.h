// host_guard.h — refuses requests whose Host is a public name while the server listens on loopback only: a web page whose name
// was re-bound to 127.0.0.1 (DNS rebinding) sends its own name.
#pragma once

#include <string>
#include <string_view>

namespace hearth {

// Loopback and private addresses, localhost, this machine's name, *.localhost, *.local, *.internal; an empty Host too (HTTP/1.0).
bool is_local_host_header(std::string_view host, std::string_view machine_name);

bool is_loopback_address(std::string_view address);  // "127.0.0.1", "::1", "localhost"
std::string machine_name();

}  // namespace hearth
