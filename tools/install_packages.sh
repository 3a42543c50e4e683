#!/usr/bin/env bash
# Installs what building and testing hearth needs on Debian 12 or Ubuntu 24.04, and the packages named as arguments.
# Does nothing when all is there.
set -euo pipefail

boost=$(apt-cache pkgnames 2>/dev/null | grep -xE 'libboost1\.8[1-9]-dev' | sort | head -1 | grep -oE '1\.8[1-9]' || true)
boost=${boost:-1.81}
packages=("$@" g++ cmake ninja-build make pkg-config git ca-certificates python3 python3-venv curl openssl
  "libboost${boost}-dev" "libboost-url${boost}-dev" nlohmann-json3-dev libfmt-dev libssl-dev libyaml-cpp-dev
  prometheus-cpp-dev libpcre2-dev libutf8proc-dev libedit-dev libgtest-dev libgmock-dev)
missing=()
for p in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q '^install ok installed' || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0
echo "installing: ${missing[*]}"
sudo=; [ "$(id -u)" -eq 0 ] || sudo=sudo
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
$sudo apt-get install -y -qq "${missing[@]}" >/dev/null
