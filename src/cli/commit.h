// commit.h — which source this program was built from; "unknown" outside a repository, "…+" with local changes.
#pragma once

namespace hearth {
const char* commit();
}  // namespace hearth
