# The passes over a row of logits are worth unrolling whatever the preset.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/engine/row_math.cpp PROPERTIES COMPILE_OPTIONS "-O3")
