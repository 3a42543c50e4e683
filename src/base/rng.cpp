#include "base/rng.h"

#include <cmath>
#include <numbers>

namespace hearth {

double Rng::normal() {  // Box and Muller, one of the pair
  const double u = 1.0 - uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace hearth
