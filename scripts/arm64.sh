# Building for 64-bit Arm on Debian of another architecture: sourced, never run.
# REQUIRES scripts/common.sh before.

# need_arm64: the cross compiler, and Boost for it in build/arm64-boost. Of this machine only the compiler
# and the emulator are installed, where they are missing.
need_arm64() {
  need_packages cmake ninja-build g++-aarch64-linux-gnu qemu-user-static
  [ -d build/arm64-boost ] || unpack_arm64 build/arm64-boost libboost1.81-dev \
    libboost-{program-options,test}1.81{-dev,.0}
}

# unpack_arm64 FOLDER PACKAGE..: unpacks packages of the other architecture, with package lists of
# their own: this machine's know nothing of it. FOLDER/packages: their names and versions.
unpack_arm64() {
  local folder=$1 lists=$PWD/build/arm64-apt options package
  shift
  rm -rf "$lists"
  mkdir -p "$lists/state/lists/partial" "$lists/cache/archives/partial"
  : > "$lists/status"
  options=(-o Dir::State="$lists/state" -o Dir::State::status="$lists/status"
    -o Dir::Cache="$lists/cache" -o APT::Architecture=arm64 -o APT::Architectures=arm64
    -o APT::Sandbox::User="$(id -un)")
  quietly arm64-apt.log apt-get "${options[@]}" update
  (
    cd "$lists"
    apt-get -q "${options[@]}" download "$@" > download.log 2>&1 || { cat download.log >&2; exit 1; }
  )
  mkdir "$lists/unpacked"
  for package in "$lists"/*.deb; do
    dpkg -x "$package" "$lists/unpacked"
    dpkg-deb --show --showformat='${Package} ${Version}\n' "$package" >> "$lists/unpacked/packages"
  done
  mv "$lists/unpacked" "$folder"
  rm -r "$lists"
}
