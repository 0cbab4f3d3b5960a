# What the static command is linked from, as Debian's packages tell: sourced, never run.

# linked_packages: a line each, "SOURCE-NAME PACKAGE VERSION", of the libraries that are in the command.
linked_packages() {
  local name file package
  while read -r name file; do
    package=$(dpkg-query -S "$file" 2> /dev/null | cut -d: -f1) || true
    if [ -z "$package" ]; then
      echo "release: no Debian package has $file; releases are made on Debian" >&2
      return 1
    fi
    echo "$name $package $(dpkg-query -W -f '${Version}' "$package")"
  done << FILES
boost /usr/include/boost/version.hpp
libstdc++ $(readlink -f "$(g++ -print-file-name=libstdc++.a)")
libgcc $(readlink -f "$(g++ -print-file-name=libgcc.a)")
glibc $(readlink -f "$(g++ -print-file-name=libc.a)")
FILES
}

# write_notices OUTPUT: who wrote those libraries, and under which licences, in Debian's words.
write_notices() {
  local name package version shown=()
  {
    echo "The neuroshard command, a static program, holds parts of the libraries below."
    echo "It is under the MIT licence itself (LICENSE). What follows each name is the copyright file of"
    echo "the Debian package that the library was linked from; it names all licences of that package's"
    echo "source, those of tools and documents that are not in the command included."
    while read -r name package version; do
      printf '\n%s\n%s, from Debian package %s %s\n%s\n' "$(printf '=%.0s' {1..80})" "$name" "$package" \
        "$version" "$(printf '=%.0s' {1..80})"
      case " ${shown[*]-} " in
        *" $(readlink -f "/usr/share/doc/$package/copyright") "*) echo "As of the library before." ;;
        *) cat "/usr/share/doc/$package/copyright" ;;
      esac
      shown+=("$(readlink -f "/usr/share/doc/$package/copyright")")
    done < <(linked_packages)
  } > "$1"
}
