//! How names are written.

use syn::LitStr;

/// How `rename_all` writes names.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Case {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
}

impl Case {
    pub(crate) fn parse(name: &LitStr) -> syn::Result<Self> {
        Ok(match name.value().as_str() {
            "lowercase" => Self::Lower,
            "UPPERCASE" => Self::Upper,
            "PascalCase" => Self::Pascal,
            "camelCase" => Self::Camel,
            "snake_case" => Self::Snake,
            "SCREAMING_SNAKE_CASE" => Self::ScreamingSnake,
            "kebab-case" => Self::Kebab,
            _ => {
                return Err(syn::Error::new(
                    name.span(),
                    "not a case: write lowercase, UPPERCASE, PascalCase, camelCase, snake_case, SCREAMING_SNAKE_CASE or kebab-case",
                ));
            }
        })
    }

    /// The name of a field (`two_words`) or a variant (`TwoWords`) in this case.
    pub(crate) fn apply(self, name: &str) -> String {
        let words = words(name);
        let capitalized = |word: &String| {
            let mut letters = word.chars();
            let first = letters.next().map(|first| first.to_uppercase().to_string());
            first.unwrap_or_default() + letters.as_str()
        };
        match self {
            Self::Lower => words.concat(),
            Self::Upper => words.concat().to_uppercase(),
            Self::Pascal => words.iter().map(capitalized).collect(),
            Self::Camel => {
                let (first, rest) = words.split_first().expect("a name has a word");
                rest.iter()
                    .fold(first.clone(), |name, word| name + &capitalized(word))
            }
            Self::Snake => words.join("_"),
            Self::ScreamingSnake => words.join("_").to_uppercase(),
            Self::Kebab => words.join("-"),
        }
    }
}

/// The words of a name, in lower case. A word starts at an underscore, and at an upper-case letter behind another letter.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        if letter == '_' || (letter.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if letter != '_' {
            let word = words.last_mut().expect("there is one");
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase() || letter.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    if words.is_empty() {
        words.push(name.to_owned());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_variants_are_written_in_each_case() {
        let cases = [
            (Case::Lower, "twowords2x"),
            (Case::Upper, "TWOWORDS2X"),
            (Case::Pascal, "TwoWords2X"),
            (Case::Camel, "twoWords2X"),
            (Case::Snake, "two_words2_x"),
            (Case::ScreamingSnake, "TWO_WORDS2_X"),
            (Case::Kebab, "two-words2-x"),
        ];
        for (case, expected) in cases {
            assert_eq!(case.apply("TwoWords2X"), expected);
            assert_eq!(case.apply("_two__words2_x"), expected);
        }
        assert_eq!(Case::Camel.apply("_"), "_");
    }
}
