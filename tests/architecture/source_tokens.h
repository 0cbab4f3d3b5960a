#pragma once

#include <string>
#include <string_view>
#include <vector>

/// A word or a sign of C++.
struct Token {
  std::string text;
  std::string before;  ///< the token before it, of punctuation one character or "::" or "->"
  std::string after;
  std::string owner;        ///< what stands before "::", when `before` is that
  bool opens_line = false;  ///< its line begins in the first column with a letter
};

/// Whether `c` may stand in a name.
bool of_name(char c);

/// Without comments and lines of the preprocessor, and with nothing in strings and characters.
std::vector<Token> tokens_of(std::string_view text);
