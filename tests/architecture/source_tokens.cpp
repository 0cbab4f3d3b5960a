#include "tests/architecture/source_tokens.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <utility>

bool of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

namespace {

/// Without comments, and with nothing in strings and characters.
std::string code_of(std::string_view text) {
  std::string code;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '/' && text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (c == '/' && text.substr(i, 2) == "/*") {
      i = std::min(text.find("*/", i), text.size()) + 1;
    } else if (c == '"' && i > 0 && text[i - 1] == 'R') {
      const std::size_t open = text.find('(', i);
      const std::string close = ")" + std::string(text.substr(i + 1, open - i - 1)) + "\"";
      i = text.find(close, open) + close.size() - 1;
      code += "\"\"";
    } else if (c == '"' || (c == '\'' && !(i > 0 && of_name(text[i - 1])))) {
      for (++i; i < text.size() && text[i] != c; ++i) i += text[i] == '\\' ? 1 : 0;
      code += "\"\"";
    } else {
      code += c;
    }
  }
  return code;
}

}  // namespace

std::vector<Token> tokens_of(std::string_view text) {
  const std::string code = code_of(text);
  std::vector<Token> tokens;
  bool opens_line = false;
  for (std::size_t i = 0; i < code.size();) {
    if (i == 0 || code[i - 1] == '\n') {
      opens_line = std::isalpha(static_cast<unsigned char>(code[i])) != 0;
      if (code[i] == '#') i = std::min(code.find('\n', i), code.size() - 1);
    }
    if (std::isspace(static_cast<unsigned char>(code[i])) != 0) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    if (of_name(code[i])) {
      while (end < code.size() && of_name(code[end])) ++end;
    } else if (code.compare(i, 2, "::") == 0 || code.compare(i, 2, "->") == 0) {
      ++end;
    }
    Token token;
    token.text = code.substr(i, end - i);
    token.opens_line = opens_line;
    if (!tokens.empty()) {
      token.before = tokens.back().text;
      if (token.before == "::") token.owner = tokens.back().before;
      tokens.back().after = token.text;
    }
    tokens.push_back(std::move(token));
    i = end;
  }
  return tokens;
}
