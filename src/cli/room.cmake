# commit.cpp is written at every build, and only when it changes.
set(commit_file ${CMAKE_BINARY_DIR}/generated/commit.cpp)
add_custom_target(hearth_commit BYPRODUCTS ${commit_file}
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUT=${commit_file} -P ${CMAKE_SOURCE_DIR}/cmake/commit.cmake)
set_source_files_properties(${commit_file} PROPERTIES GENERATED TRUE)
target_sources(hearth_cli PRIVATE ${commit_file})
add_dependencies(hearth_cli hearth_commit)
