# What the static command is linked from, as Debian's packages tell: sourced, never run.
# REQUIRES $tools, the prefix of a cross compiler's tools, or "", and $boost, where Boost is unpacked, or "".

# linked_packages: a line each, "SOURCE-NAME PACKAGE VERSION", of the libraries that are in the command.
linked_packages() {
  local name file package
  while read -r name file; do
    if [ "$name" = boost ] && [ -n "$boost" ]; then
      grep '^libboost1.81-dev ' "$boost/packages" | sed "s/^/$name /"
      continue
    fi
    package=$(dpkg-query -S "$file" 2> /dev/null | cut -d: -f1) || true
    if [ -z "$package" ]; then
      echo "release: no Debian package has $file; releases are made on Debian" >&2
      return 1
    fi
    echo "$name $package $(dpkg-query -W -f '${Version}' "$package")"
  done << FILES
boost /usr/include/boost/version.hpp
libstdc++ $(readlink -f "$("${tools}g++" -print-file-name=libstdc++.a)")
libgcc $(readlink -f "$("${tools}g++" -print-file-name=libgcc.a)")
glibc $(readlink -f "$("${tools}g++" -print-file-name=libc.a)")
FILES
}

# boost_licence FILE: the licence that all of Boost that is linked is under, of Debian's copyright file. The
# authors of all parts of Boost are two megabytes, which that licence does not ask for of compiled programs.
boost_licence() {
  awk '/^License: BSL-1\.0$/ { inside = 1; next }
    inside && /^ / { line = substr($0, 2); print line == "." ? "" : line; found = 1; next }
    { inside = 0 }
    END { exit !found }' "$1" || { echo "release: no text of BSL-1.0 in $1" >&2; return 1; }
}

# write_notices OUTPUT: what is linked, what its licences ask for, and who wrote it, in Debian's words.
write_notices() {
  local name package version file shown="" lesser=/usr/share/common-licenses/LGPL-2.1
  local line="================================================================================"
  linked_packages > "$1.libraries"
  {
    cat << 'TEXT'
The neuroshard command is under the MIT licence (LICENSE). It is a static program: parts of the libraries
below are in it. The shared libengine of the release archive holds all but glibc. This is what their
licences ask for as we understand them, and no legal advice.

glibc is under the LGPL 2.1, whose text ends this file. A program under any licence may hold it. Section 6
asks of whoever passes such a program on: say that glibc is in it, add the text of the LGPL, give or offer
the source of that glibc, and let whoever gets it change glibc and link the program again. This file does
the first two. The source is Debian's source package "glibc" of the version below: it is not in the release,
and whoever passes the program on has to give or offer it. Linking again takes the source of the release's
commit, which is under the MIT licence, and `cmake --preset static`, which links the glibc that is installed.
The OCI image holds the program alone: this file has to go with it.

libstdc++ and libgcc are under the GPL 3 with the GCC Runtime Library Exception: what GCC compiled may hold
them and be passed on under a licence of its own choice.

Boost is under the Boost Software License, which asks for nothing of compiled programs.
TEXT
    while read -r name package version; do
      printf '\n%s\n%s, of the Debian package %s %s\n%s\n' "$line" "$name" "$package" "$version" "$line"
      file=$(readlink -f "/usr/share/doc/$package/copyright")
      if [ "$name" = boost ]; then
        file=$boost/usr/share/doc/$package/copyright
        boost_licence "$file"
      elif [ "$file" = "$shown" ]; then
        echo "As of the library before."
      else
        echo "Debian's copyright file, which names the licences of tools and documents of the package, too:"
        echo
        cat "$file"
      fi
      shown=$file
    done < "$1.libraries"
    printf '\n%s\nThe LGPL 2.1\n%s\n' "$line" "$line"
    cat "$lesser"
  } > "$1"
  rm "$1.libraries"
}
