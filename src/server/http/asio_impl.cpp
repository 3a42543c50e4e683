// asio_impl.cpp — the one place where the non-template parts of Asio and Beast are compiled.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
