# Tests are compiled once and run for seconds.
target_compile_options(server_test PRIVATE -O0)
