# One source, several instruction sets. Only the files in isa/ get flags; they leave nothing behind that another file could
# call (kernels/simd.h). GCC 12 warns about the undefined values inside its own AVX-512 header.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/backend/cpu/isa/avx2.cpp PROPERTIES
    COMPILE_OPTIONS "-mavx2;-mfma;-mf16c")
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/backend/cpu/isa/avx512.cpp PROPERTIES
    COMPILE_OPTIONS "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx512vnni;-mfma;-mf16c;-mprefer-vector-width=512;-Wno-uninitialized")
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/backend/cpu/isa/dotprod.cpp PROPERTIES
    COMPILE_OPTIONS "-march=armv8.2-a+dotprod")
endif()
