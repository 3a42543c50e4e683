# The twin test compares with the reference.
target_link_libraries(backend_cpu_test PRIVATE hearth_backend_ref)
