//! Rules as patterns.

/// A part of a file that a rule may look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The name of a function.
    Function,
    /// A doc comment or another comment.
    Comment,
    /// A string literal: a message, a help text, a description.
    Literal,
    /// A paragraph, a list item, a row or a heading of a page.
    Page,
}

const PROSE: &[Part] = &[Part::Comment, Part::Literal, Part::Page];

/// Words that a rule looks for.
#[derive(Clone, Copy)]
pub(super) enum Pattern {
    /// One of these words or phrases, anywhere.
    Contains(&'static [&'static str]),
    /// One of these words or phrases, at the beginning.
    Begins(&'static [&'static str]),
    /// One of these words, and nothing else.
    Is(&'static [&'static str]),
    /// A single word that ends as a participle does.
    IsParticiple,
    /// A sentence with more words than this.
    LongerThan(usize),
}

/// A rule of the project's language.
pub(super) struct Rule {
    /// Name of the rule in the list of accepted findings.
    pub(super) name: &'static str,
    /// Parts of files that the rule looks at.
    pub(super) parts: &'static [Part],
    /// Words that the rule rejects.
    pub(super) pattern: Pattern,
    /// Advice for the author.
    pub(super) instead: &'static str,
}

/// Names that end like participles and aren't.
const NOUNS_AND_VERBS: &[&str] =
    &["deed", "elapsed", "embed", "exceed", "feed", "need", "proceed", "seed", "speed"];
/// Irregular participles.
const PARTICIPLES: &[&str] = &[
    "brought", "built", "drawn", "found", "given", "gone", "held", "kept", "known", "left", "lost", "made",
    "meant", "said", "seen", "sent", "shown", "taken", "told", "written",
];

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "pronoun-start",
        parts: &[Part::Comment],
        pattern: Pattern::Begins(&[
            "what", "how", "why", "where", "which", "who", "whose", "it", "its", "they", "their", "the same",
        ]),
        instead: "say what the item does (\"Returns …\") or is (\"A lease held by this run.\")",
    },
    Rule {
        name: "passive",
        parts: PROSE,
        pattern: Pattern::Contains(&[
            "is said",
            "are said",
            "is told",
            "are told",
            "is asked",
            "are asked",
            "was told",
            "was said",
            "were told",
        ]),
        instead: "name the actor: pivot-host prints, reports, checks or asks",
    },
    Rule {
        name: "bare-pointer",
        parts: PROSE,
        pattern: Pattern::Contains(&["those of", "that of", "that one", "the former", "the latter"]),
        instead: "repeat the noun",
    },
    Rule {
        name: "nobody",
        parts: PROSE,
        pattern: Pattern::Contains(&["nobody", "somebody", "whoever", "nobody's", "somebody's"]),
        instead: "name who it is: a user, a controller, anyone with write access to …",
    },
    Rule {
        name: "has-to-be",
        parts: PROSE,
        pattern: Pattern::Contains(&[
            "is to be",
            "are to be",
            "has to be",
            "have to be",
            "need not",
            "may be had",
        ]),
        instead: "must, should, is optional, is available",
    },
    Rule {
        name: "old-words",
        parts: PROSE,
        pattern: Pattern::Contains(&[
            "but for",
            "anew",
            "midway",
            "of its own",
            "of their own",
            "comes of",
            "as good as",
            "lets go",
            "let go",
            "take back",
            "taken back",
            "takes back",
            "take up",
            "takes up",
            "put back",
            "puts back",
        ]),
        instead: "except, again, partway, its own, results from, unpause, roll back, resume",
    },
    Rule {
        name: "not-allowed",
        parts: PROSE,
        pattern: Pattern::Contains(&["is not allowed to", "isn't allowed to", "may not"]),
        instead: "no permission to; must not",
    },
    Rule {
        name: "long-sentence",
        parts: &[Part::Page],
        pattern: Pattern::LongerThan(35),
        instead: "write two sentences, or a list",
    },
    Rule {
        name: "preposition-name",
        parts: &[Part::Function],
        pattern: Pattern::Is(&[
            "about", "again", "all", "any", "at", "before", "below", "beside", "between", "beyond", "both",
            "by", "each", "else", "few", "for", "from", "here", "how", "in", "into", "many", "none", "now",
            "of", "off", "on", "one", "or", "other", "ours", "out", "over", "same", "several", "some",
            "still", "such", "that", "then", "there", "this", "those", "to", "under", "until", "up", "what",
            "when", "where", "which", "who", "why", "with", "within", "without", "yet",
        ]),
        instead: "a verb phrase, or the noun of the result",
    },
    Rule {
        name: "participle-name",
        parts: &[Part::Function],
        pattern: Pattern::IsParticiple,
        instead: "a verb phrase (`find_dependents`), or a predicate (`is_paused`)",
    },
];

impl Rule {
    /// Returns what the rule rejects in a text, given as lower-case words and `.` at the end of sentences.
    pub(super) fn find(&self, words: &[String]) -> Vec<String> {
        match self.pattern {
            Pattern::Contains(phrases) => phrases
                .iter()
                .flat_map(|phrase| vec![(*phrase).to_owned(); occurrences(words, phrase)])
                .collect(),
            Pattern::Begins(phrases) => {
                let begins = |phrase: &&&str| words.starts_with(&split(phrase));
                phrases.iter().find(begins).map(|phrase| (*phrase).to_owned()).into_iter().collect()
            }
            Pattern::Is(names) => {
                words.first().filter(|name| names.contains(&name.as_str())).cloned().into_iter().collect()
            }
            Pattern::IsParticiple => {
                words.first().filter(|name| is_participle(name)).cloned().into_iter().collect()
            }
            Pattern::LongerThan(most) => words
                .split(|word| word == ".")
                .filter(|sentence| sentence.len() > most)
                .map(|sentence| {
                    let begins: Vec<&str> = sentence.iter().take(8).map(String::as_str).collect();
                    format!("{} words: {} …", sentence.len(), begins.join(" "))
                })
                .collect(),
        }
    }
}

fn split(phrase: &str) -> Vec<String> {
    phrase.split(' ').map(str::to_owned).collect()
}

fn occurrences(words: &[String], phrase: &str) -> usize {
    let phrase = split(phrase);
    words.windows(phrase.len()).filter(|window| *window == phrase.as_slice()).count()
}

fn is_participle(name: &str) -> bool {
    let single = !name.contains('_');
    single && !NOUNS_AND_VERBS.contains(&name) && (name.ends_with("ed") || PARTICIPLES.contains(&name))
}
