//! Rules as patterns.

/// A part of a file that a rule may look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The name of a function.
    Function,
    /// The name of a closure that is bound to a variable.
    Closure,
    /// The name of a type, a module, a constant or a static.
    Item,
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
    /// One of these words, at the beginning of a sentence with at least so many words. Labels and ends of messages have fewer.
    BeginsSentence(&'static [&'static str], usize),
    /// One of these words, at the beginning of such a sentence that is not the first one.
    BeginsLaterSentence(&'static [&'static str], usize),
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
    &["deed", "ed", "elapsed", "embed", "exceed", "feed", "need", "proceed", "seed", "speed"];
/// Irregular participles.
const PARTICIPLES: &[&str] = &[
    "brought", "built", "drawn", "found", "given", "gone", "held", "kept", "known", "left", "lost", "made",
    "meant", "said", "seen", "sent", "shown", "taken", "told", "written",
];

/// Words with which a clause begins that stands for a noun.
const CLAUSES: &[&str] = &["what", "who", "whoever", "whose"];

/// Prepositions, pronouns and adverbs.
const PREPOSITIONS: &[&str] = &[
    "about", "again", "all", "any", "at", "before", "below", "beside", "between", "beyond", "both", "by",
    "each", "else", "few", "for", "from", "here", "how", "in", "into", "many", "none", "now", "of", "off",
    "on", "one", "or", "other", "ours", "out", "over", "same", "several", "some", "still", "such", "that",
    "then", "there", "this", "those", "to", "under", "until", "up", "what", "when", "where", "which", "who",
    "why", "with", "within", "without", "yet",
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
        name: "passive-shown",
        parts: PROSE,
        pattern: Pattern::Contains(&[
            "is named",
            "are named",
            "is shown",
            "are shown",
            "is looked at",
            "are looked at",
        ]),
        instead: "name the actor: pivot-host prints, reports, checks or asks",
    },
    Rule {
        name: "clause-subject",
        parts: &[Part::Literal, Part::Page],
        pattern: Pattern::BeginsSentence(CLAUSES, 3),
        instead: "name the noun: \"Dependencies that can't be installed are listed\"",
    },
    Rule {
        name: "clause-subject-in-comment",
        parts: &[Part::Comment],
        pattern: Pattern::BeginsLaterSentence(CLAUSES, 3),
        instead: "name the noun: \"Dependencies that can't be installed are listed\"",
    },
    Rule {
        name: "fronted-genitive",
        parts: PROSE,
        pattern: Pattern::BeginsSentence(&["of"], 5),
        instead: "\"For Secrets, the plan stores only the resourceVersion\"",
    },
    Rule {
        name: "said-flag",
        parts: PROSE,
        pattern: Pattern::Contains(&[
            "say `--",
            "says `--",
            "saying `--",
            "said `--",
            "give `--",
            "gives `--",
            "given `--",
            "unless you say",
        ]),
        instead: "set `--x`, pass `--x`",
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
        name: "terms",
        parts: PROSE,
        pattern: Pattern::Contains(&[
            "un pause",
            "un paused",
            "un pauses",
            "dangers",
            "carry along",
            "carried along",
            "carries along",
            "rights",
            "withdraw",
            "withdraws",
            "withdrawn",
        ]),
        instead: "unpause; risks; copied and kept; permissions; roll back",
    },
    Rule {
        name: "beside",
        parts: PROSE,
        pattern: Pattern::Contains(&["beside"]),
        instead: "next to, in addition to, with",
    },
    Rule {
        name: "not-allowed",
        parts: PROSE,
        pattern: Pattern::Contains(&["is not allowed to", "isn't allowed to", "may not"]),
        instead: "no permission to; must not",
    },
    Rule {
        name: "sentence-over-25",
        parts: PROSE,
        pattern: Pattern::LongerThan(25),
        instead: "write two sentences, or a list",
    },
    Rule {
        name: "preposition-name",
        parts: &[Part::Function],
        pattern: Pattern::Is(PREPOSITIONS),
        instead: "a verb phrase, or the noun of the result",
    },
    Rule {
        name: "participle-name",
        parts: &[Part::Function],
        pattern: Pattern::IsParticiple,
        instead: "a verb phrase (`find_dependents`), or a predicate (`is_paused`)",
    },
    Rule {
        name: "preposition-closure",
        parts: &[Part::Closure],
        pattern: Pattern::Is(PREPOSITIONS),
        instead: "a verb phrase, or the noun of the result",
    },
    Rule {
        name: "participle-closure",
        parts: &[Part::Closure],
        pattern: Pattern::IsParticiple,
        instead: "a verb phrase (`find_dependents`), or a predicate (`is_paused`)",
    },
    Rule {
        name: "preposition-item",
        parts: &[Part::Item],
        pattern: Pattern::Is(PREPOSITIONS),
        instead: "a noun phrase; a constant says what it limits (`MAX_LISTED_NAMES`)",
    },
    Rule {
        name: "participle-item",
        parts: &[Part::Item],
        pattern: Pattern::IsParticiple,
        instead: "a noun phrase; a constant says what it limits (`MAX_LISTED_NAMES`)",
    },
];

impl Rule {
    /// Returns the phrases that the rule rejects in a text, given as lower-case words and stops.
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
            Pattern::BeginsSentence(starts, least) => find_starts(words, starts, least, 0),
            Pattern::BeginsLaterSentence(starts, least) => find_starts(words, starts, least, 1),
            Pattern::Is(names) => {
                words.first().filter(|name| names.contains(&name.as_str())).cloned().into_iter().collect()
            }
            Pattern::IsParticiple => {
                words.first().filter(|name| is_participle(name)).cloned().into_iter().collect()
            }
            Pattern::LongerThan(most) => words
                .split(|word| is_stop(word))
                .filter(|sentence| sentence.len() > most)
                .map(|sentence| {
                    let begins: Vec<&str> = sentence.iter().take(8).map(String::as_str).collect();
                    format!("{} words: {} …", sentence.len(), begins.join(" "))
                })
                .collect(),
        }
    }
}

/// Returns the words of `starts` with which sentences of `least` words begin, after the first `skipped` sentences.
fn find_starts(words: &[String], starts: &[&str], least: usize, skipped: usize) -> Vec<String> {
    let sentences = words.split(|word| word == ".").filter(|sentence| !sentence.is_empty());
    sentences
        .skip(skipped)
        .filter(|sentence| sentence.iter().take_while(|word| !is_stop(word)).count() >= least)
        .filter_map(|sentence| sentence.first())
        .filter(|start| starts.contains(&start.as_str()))
        .cloned()
        .collect()
}

fn is_stop(word: &str) -> bool {
    word == "." || word == ":"
}

fn split(phrase: &str) -> Vec<String> {
    phrase.split(' ').map(str::to_owned).collect()
}

fn occurrences(words: &[String], phrase: &str) -> usize {
    let length = phrase.split(' ').count();
    let is_phrase = |window: &&[String]| window.iter().map(String::as_str).eq(phrase.split(' '));
    words.windows(length).filter(is_phrase).count()
}

fn is_participle(name: &str) -> bool {
    let single = !name.contains('_');
    single && !NOUNS_AND_VERBS.contains(&name) && (name.ends_with("ed") || PARTICIPLES.contains(&name))
}
