# The device runner is tested with a small model on the reference backend.
target_link_libraries(engine_test PRIVATE hearth_backend_ref)
