# The twin test compares with the reference.
target_link_libraries(backend_cuda_test PRIVATE hearth_backend_ref)
