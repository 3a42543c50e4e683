# Asio and Beast are compiled once, in http/asio_impl.cpp; every other file sees declarations only.
target_compile_definitions(hearth_server PUBLIC BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION
  BOOST_ASIO_NO_DEPRECATED)
