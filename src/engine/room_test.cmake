# The device runner is tested with a small model on the reference backend, and with the golden models on the CPU's.
target_link_libraries(engine_test PRIVATE hearth_backend_ref hearth_backend_cpu)
