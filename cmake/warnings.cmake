# Warnings are errors in our own code; package headers are SYSTEM.
add_library(hearth_flags INTERFACE)
target_compile_options(hearth_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Werror;-Wshadow;-Wnon-virtual-dtor;-Woverloaded-virtual;-Wno-psabi>"
  # GCC 12 reports these inside the standard library at -O2 for code that is right.
  "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict;-Wno-stringop-overflow;-Wno-array-bounds;-Wno-maybe-uninitialized;-Wno-dangling-pointer;-Wno-free-nonheap-object>")
target_compile_definitions(hearth_flags INTERFACE HEARTH_VERSION="${PROJECT_VERSION}")
target_include_directories(hearth_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
if(HEARTH_SANITIZE)
  target_compile_options(hearth_flags INTERFACE -fsanitize=${HEARTH_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS)
  target_link_options(hearth_flags INTERFACE -fsanitize=${HEARTH_SANITIZE})
  # Every program gets the same options, whoever starts it. An object, since a linker takes nothing out of an archive that
  # overrides a weak symbol.
  add_library(hearth_sanitizer_options OBJECT ${CMAKE_SOURCE_DIR}/cmake/sanitizer_options.cpp)
  target_sources(hearth_flags INTERFACE
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:$<TARGET_OBJECTS:hearth_sanitizer_options>>)
endif()
if(HEARTH_FUZZ)
  target_compile_options(hearth_flags INTERFACE -O1 -g1 -fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow
    -fno-sanitize-recover=undefined,float-cast-overflow -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS)
  target_link_options(hearth_flags INTERFACE -fsanitize=address,undefined,float-cast-overflow)
endif()
# Floating point: one rounding an operation, the same everywhere; kernels fuse by hand where they want it.
target_compile_options(hearth_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
# Device code fuses as it likes: what a row gets is the same whatever shares its launch.
