# Every dependency, with its reason. All come from the distribution (tools/install_packages.sh names them).
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
# JSON at the HTTP edge, in configs and in checkpoints. Ordered objects keep a client's key order; numbers parse exactly.
find_package(nlohmann_json 3.11 REQUIRED)
# Text formatting: GCC 12 has no <format>.
find_package(fmt REQUIRED)
# TLS for the server, SHA-256 for file checks.
find_package(OpenSSL 3.0 REQUIRED)
# --config FILE.yaml.
find_package(yaml-cpp REQUIRED)
if(NOT TARGET yaml-cpp)
  add_library(yaml-cpp ALIAS yaml-cpp::yaml-cpp)
endif()
# HTTP server (Beast, Asio) and URLs.
find_package(Boost 1.81 REQUIRED COMPONENTS url)
# /metrics: registry and text format.
find_package(prometheus-cpp REQUIRED COMPONENTS core)
# Pre-tokeniser patterns: Unicode classes and look-ahead, compiled to machine code.
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)
# Unicode normalisation (NFC) and categories.
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
# Line editing in `hearth run`; BSD licence (readline is GPL).
pkg_check_modules(libedit REQUIRED IMPORTED_TARGET libedit)
if(HEARTH_TESTS)
  find_package(GTest REQUIRED)
endif()
