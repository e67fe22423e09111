//! A ground truth, parsed once and compared with many responses.

use std::sync::{Arc, OnceLock};

use crate::answer::{Answer, Node};
use crate::choices::Choices;
use crate::decide::{decide, decided, if_right};
use crate::extract::{
    Extracted, Question, Rule, all_of_last_paragraph, by_parts, extract, extract_answering,
    gives_up, items, listed_values, only_number, own_turn, value_of_sentence,
};
use crate::labels;
use crate::nearby;
use crate::options::Options;
use crate::relation;
use crate::restated;
use crate::table::{captured, lists, pattern, single, starts_with_ignoring_case, without};
use crate::truth;
use crate::verdict::{ParseError, Side, Verdict, Witness};
use crate::words;

/// A ground truth, parsed once and compared with the responses of a group.
#[derive(Debug, Clone)]
pub struct Gold {
    answer: Answer,
    /// The answer with its comma as a decimal point, if it may be one.
    pointed: Option<Answer>,
    options: Options,
    question: Option<Arc<Question>>,
    /// The choices that the question lists, read when they are first needed.
    choices: Arc<OnceLock<Choices>>,
}

impl Gold {
    /// Parses a ground truth: a bare answer, or a text with the answer in a box or after `####`.
    ///
    /// # Errors
    ///
    /// An error if the text holds no readable answer.
    pub fn parse(ground_truth: &str, options: &Options) -> Result<Self, ParseError> {
        let marked = ["\\boxed", "\\fbox", "####"].iter().any(|mark| ground_truth.contains(mark));
        let every_mark = Options { strict: false, ..options.clone() };
        let inner = marked.then(|| extract(ground_truth, &every_mark)).flatten();
        let text = inner.as_ref().map_or(ground_truth, |extracted| extracted.text.as_str());
        let (answer, pointed) = truth::parse(text)?;
        Ok(Self {
            answer,
            pointed,
            options: options.clone(),
            question: None,
            choices: Arc::default(),
        })
    }

    /// Adds the question: nothing is extracted from a response's repetition of it, and an answer that only repeats the
    /// formula to be calculated is none.
    #[must_use]
    pub fn asked(self, question: &str) -> Self {
        Self { question: Some(Arc::new(Question::new(question))), choices: Arc::default(), ..self }
    }

    /// Extracts the answer of a response as [`Gold::verify`] does.
    pub fn extract(&self, response: &str) -> Option<Extracted> {
        extract_answering(response, self.question.as_deref(), &self.options)
    }

    /// Compares a response with this ground truth.
    pub fn verify(&self, response: &str) -> Verdict {
        let Some(extracted) = self.extract(response) else {
            let words = self
                .words_at_the_end(response)
                .or_else(|| self.choice_at_the_end(response))
                .filter(|_| self.options.last_number && !self.options.strict);
            let nothing = Verdict::Unparsed { which: Side::Response, why: ParseError::NoAnswer };
            return words.map_or(nothing, |words| self.verify_answer(&words));
        };
        let verdict = self.compared(response, &extracted);
        if verdict.is_right() && self.is_contradicted(response, &extracted) {
            return Verdict::Unparsed { which: Side::Response, why: ParseError::Undecided };
        }
        let Some(question) = self.asked_text().filter(|_| verdict.is_right()) else {
            return verdict;
        };
        if restated::restates(&extracted.text, &self.answer, question) {
            return Verdict::Unparsed { which: Side::Response, why: ParseError::Restated };
        }
        if nearby::is_turned_round(response, &extracted, question) {
            return Verdict::Unparsed { which: Side::Response, why: ParseError::Undecided };
        }
        let ordered = labels::in_blanks(&extracted.text, &self.answer, question, &self.options);
        ordered.filter(|ordered| !ordered.is_right()).unwrap_or(verdict)
    }

    /// Compares the answer of a response, also as its surroundings let it be read.
    fn compared(&self, response: &str, extracted: &Extracted) -> Verdict {
        let value = !self.answer.is_words() && !self.answer.is_choice();
        if extracted.rule == Rule::LastSentence && value && gives_up(response) {
            return Verdict::Unparsed { which: Side::Response, why: ParseError::NoAnswer };
        }
        let money = words::without_points(&extracted.text)
            .filter(|_| words::writes_decimal_commas(response));
        let measured = self.with_unit(response, extracted).or(money);
        let verdict = self.verify_answer(measured.as_ref().unwrap_or(&extracted.text));
        if verdict.is_right() {
            return verdict;
        }
        if let Some(right) = self.with_decimal_commas(response, &extracted.text) {
            return right;
        }
        let unmarked = matches!(extracted.rule, Rule::LastNumber | Rule::LastSentence);
        let others = [
            self.items(extracted),
            self.initial_value(extracted),
            self.facts_at_the_end(response),
            self.parts(response, extracted),
            self.answer.is_choice().then(|| nearby::letter(response, extracted)).flatten(),
            nearby::with_domain(response, extracted),
            nearby::with_definition(response, extracted),
            nearby::without_remark(extracted),
            self.number(extracted),
            self.behind_letter(response, extracted),
            nearby::rounded(response, extracted),
            nearby::first_spelling(response, extracted),
            self.in_cents(response, extracted),
            nearby::closing_formula(extracted),
            (matches!(extracted.rule, Rule::Phrase | Rule::Bold) && self.options.last_number)
                .then(|| value_of_sentence(&extracted.text).map(str::to_owned))
                .flatten(),
            nearby::behind_colon(extracted),
            self.only_point(response, extracted),
            self.time(extracted),
            self.words_at_the_end(response).filter(|_| unmarked || extracted.rule == Rule::Bold),
            unmarked.then(|| self.choice_at_the_end(response)).flatten(),
            self.asked_text().and_then(|question| labels::asked(&extracted.text, question)),
        ];
        let right =
            |answer: &String| if_right(&Answer::parse(answer).ok()?, &self.answer, &self.options);
        let others: Vec<String> = others.into_iter().flatten().collect();
        let chosen = || {
            // "Answers: A, B"
            let two = pattern!(
                r"(?i:answers?|options?|choices?)(?: are)?[:\s*]+\(?[A-J]\)?\**(?:,| and| or| &)\s*\**\(?[A-J](?-u:\b)"
            );
            let texts = others.iter().map(String::as_str).chain([extracted.text.as_str()]);
            let marked = !unmarked || !two.is_match(response);
            let choices = self.choices().filter(|_| marked)?;
            texts.into_iter().find_map(|text| choices.verdict(text, &self.answer, &self.options))
        };
        let one_of_several = || {
            let question = self.asked_text()?;
            labels::one_of_several(&extracted.text, &self.answer, question, &self.options)
        };
        others.iter().find_map(right).or_else(chosen).or_else(one_of_several).unwrap_or(verdict)
    }

    /// Returns true if what stands around an answer makes another of it, or one of several.
    fn is_contradicted(&self, response: &str, extracted: &Extracted) -> bool {
        let declares = response[extracted.span.end..].contains("\\in");
        let domain = declares.then(|| nearby::with_domain(response, extracted)).flatten();
        let domain = domain.filter(|text| text.contains("\\in"));
        nearby::means_another(response, extracted, &self.answer)
            || domain.is_some_and(|text| !self.verify_answer(&text).is_right())
            || self.is_single() && nearby::is_one_of_several(response, extracted)
    }

    /// Returns true if the ground truth is no list.
    fn is_single(&self) -> bool {
        let readings = self.answer.readings.as_deref();
        readings.is_ok_and(|all| match &all[0] {
            Node::List { open: ' ' | '{', items, .. } => items.len() == 1,
            node => !matches!(node, Node::Joined(..)),
        })
    }

    /// Returns the letter of the choice with whose text the response ends.
    fn choice_at_the_end(&self, response: &str) -> Option<String> {
        self.choices()?.at_the_end(own_turn(response), &self.answer)
    }

    fn choices(&self) -> Option<&Choices> {
        let question = self.asked_text()?;
        Some(self.choices.get_or_init(|| Choices::of(question)))
    }

    fn asked_text(&self) -> Option<&str> {
        self.question.as_deref().map(Question::text)
    }

    /// Returns the items of a list in JSON; none where the ground truth may be an open interval.
    fn items(&self, extracted: &Extracted) -> Option<String> {
        let open =
            |node: &Node| matches!(node, Node::List { open: '(', items, .. } if items.len() == 2);
        let interval = self.answer.readings.as_ref().is_ok_and(|all| open(&all[0]));
        items(extracted).filter(|_| !interval)
    }

    /// Returns the answer with initial values as the ground truth writes them: `I_0` or `I(0)`.
    fn initial_value(&self, extracted: &Extracted) -> Option<String> {
        let index = pattern!(r"\b([A-Za-z])_(?:0\b|\{0\})");
        let argument = pattern!(r"\b([A-Za-z])\(0\)");
        let (text, gold) = (&extracted.text, &self.answer.spelling);
        if argument.is_match(gold) && index.is_match(text) {
            return Some(index.replace_all(text, "$1(0)").into_owned());
        }
        (index.is_match(gold) && argument.is_match(text))
            .then(|| argument.replace_all(text, "${1}_0").into_owned())
    }

    /// Returns all marked answers, where the ground truth is a list: a box for each part, or several marks in a paragraph.
    fn parts(&self, response: &str, extracted: &Extracted) -> Option<String> {
        let reading = self.answer.readings.as_ref().ok()?.first()?;
        // `(a, b) = (3, -1)`
        let value = match reading {
            Node::Chain { sides, .. } => sides.last()?,
            other => other,
        };
        let Node::List { items, open, .. } = value else { return None };
        let response = own_turn(response);
        if extracted.rule != Rule::Box
            && let Some(listed) = listed_values(response, items.len(), *open == '(')
        {
            return Some(listed);
        }
        if !matches!(extracted.rule, Rule::Box | Rule::Bold | Rule::LastNumber) {
            return None;
        }
        // "(1) $x=3$; (2) $m\le 2$" at the end, in lines of their own.
        let lines = pattern!(r"(?m)(?:^[\s*>-]*|: )\((?:1|a|i)\)").find_iter(response).last();
        let behind = |line: &regex::Match<'_>| line.start() > extracted.span.end;
        if let Some(first) = lines.filter(|line| extracted.rule != Rule::Box || behind(line))
            && response.len() - first.start() <= nearby::LONGEST_SENTENCE
        {
            return Some(response[first.start()..].replace(['\n', '*', '$', '。'], " "));
        }
        if let Some(parts) = by_parts(response).filter(|_| extracted.rule == Rule::Box) {
            return Some(parts);
        }
        let all = all_of_last_paragraph(response, items.len())?;
        // What each value is called is said in words, in the order of the ground truth.
        let named = items.iter().any(Node::is_chain);
        let lower = response.to_lowercase();
        let place = |item: &Node| {
            let Node::Chain { sides, .. } = item else { return None };
            let Node::Words(name) = &sides[0] else { return None };
            lower.rfind(name.as_str())
        };
        let places: Vec<usize> = items.iter().filter_map(place).collect();
        if !places.is_sorted() {
            return None;
        }
        Some(if named && !all.contains('=') { format!("({all})") } else { all })
    }

    /// Returns a last number with the unit behind it, if the ground truth has one: "120 米" is no `120\text{千米}`.
    fn with_unit(&self, response: &str, extracted: &Extracted) -> Option<String> {
        let readings = self.answer.readings.as_deref().ok()?;
        let value = |node| relation::asserted(node).map_or(node, |assertion| assertion.value);
        if !readings.iter().any(|node| value(node).unit().is_some()) {
            return None;
        }
        let behind = pattern!(
            r"^[}$]*(?:\s?|(?:\s|\\[,;\x20])*\\(?:text|mathrm)\{\s*)([a-zA-Zµμ]{1,4}[²³]?(?:/[a-zA-Z]{1,3}[²³]?)?|[a-z]{3,}(?: per [a-z]{3,})?|[千厘毫分]?米|公里|千克|公斤)(?:[。.,，}]|\s|$)"
        );
        let unit = captured(behind, &response[extracted.span.end..])?.as_str();
        let number = pattern!(r"^(?:[a-zA-Z](?:_\{?[a-z0-9]+\}?)?\s*=\s*)?-?[0-9.,]+$")
            .is_match(&extracted.text);
        // "5 in total" names no inches.
        let boxed = extracted.rule == Rule::Box && number && unit != "in";
        let measured = (extracted.rule == Rule::LastNumber || boxed) && words::is_measure(unit);
        // "2 hours and 30 minutes"
        let larger = pattern!(r"(-?[0-9.]+) ([a-z]+)(?: and|,)? $")
            .captures(&response[..extracted.span.start])
            .filter(|parts| words::is_measure(&parts[2]));
        let larger =
            larger.map_or(String::new(), |parts| format!("{}\\text{{ {} }}", &parts[1], &parts[2]));
        measured.then(|| format!("{larger}{}\\text{{ {unit}}}", extracted.text))
    }

    /// Returns the value of "**Answer: (D)** $x = -0.4$" and "D (12)", if the ground truth is no letter.
    fn behind_letter(&self, response: &str, extracted: &Extracted) -> Option<String> {
        if !self.answer.choices.is_empty() {
            return None;
        }
        if let Some((_, text)) = words::letter_and_text(&extracted.text) {
            return Some(text.to_owned());
        }
        let letter = pattern!(r"^\(?[A-J]\)?$").is_match(&extracted.text);
        let value = pattern!(r"^[*.: ]+(\S[^\n]*)");
        let value = captured(value, &response[extracted.span.end..])?;
        (letter && extracted.rule == Rule::Phrase).then(|| value.as_str().to_owned())
    }

    /// Returns the only point of the last sentence, if the ground truth is one: "the centre is $(-7, 3)$ and the radius $2$".
    fn only_point(&self, response: &str, extracted: &Extracted) -> Option<String> {
        let reading = self.answer.readings.as_ref().ok()?.first()?;
        let point = matches!(reading, Node::List { open: '(', close: ')', .. })
            && extracted.rule == Rule::LastNumber;
        let start =
            response.trim_end().trim_end_matches('.').rfind(['.', '\n']).map_or(0, |at| at + 1);
        let formula = pattern!(r"\$(\([^$]*,[^$]*\))\$");
        let points = formula.captures_iter(&response[start..]).filter(|_| point);
        Some(single(points)?[1].to_owned())
    }

    /// Returns the only number of "Jane started growing it 3 hours ago" or "12 m", if the ground truth is one.
    fn number(&self, extracted: &Extracted) -> Option<String> {
        let measure = pattern!(r"^(-?[0-9][0-9.,]*) (?:[mghsNJWVKLA]|min)(?:²|³|\^\{?[23]\}?)?$");
        let plain =
            matches!(self.answer.readings.as_deref(), Ok([Node::Value { unit: None, .. }, ..]));
        // "60 s + 30 s = 90 s"
        let side = extracted.text.trim().rsplit("= ").next().unwrap_or_default();
        if let Some(parts) = measure.captures(side).filter(|_| plain) {
            return Some(parts[1].to_owned());
        }
        // `\text{Adam loses \$16.}`
        let of_somebody =
            pattern!(r"^\\text\{[A-Z][a-z]+ [a-z]{2,} (?:\\?\$)?[0-9][0-9.,]*(?: [a-z]+)?[.!]?\}$");
        let in_words = extracted.text.len() <= nearby::LONGEST_SENTENCE
            && (!matches!(extracted.rule, Rule::Box | Rule::Tag | Rule::HashMarks)
                || pattern!(r"^\\text\{(?i:‹opens a count›)[^{}$\\]*\}$")
                    .is_match(&extracted.text)
                || of_somebody.is_match(&extracted.text))
            && !extracted.text.contains("(x)")
            && Answer::parse(&extracted.text).is_ok_and(|answer| answer.is_words())
            && !self.answer.is_words()
            && !words::takes_back(&extracted.text.to_lowercase());
        let number = only_number(&extracted.text).filter(|_| in_words)?;
        if words::makes_another(&extracted.text[..number.start]) {
            return None;
        }
        // "Speed: 90 m/s" is no 90 km/h.
        let unit = pattern!(r"^ ?([a-zA-Zµμ]{1,3}[²³]?(?:/[a-z]{1,3}[²³]?)?)$");
        let unit = captured(unit, &extracted.text[number.end..]).map(|unit| unit.as_str());
        let number = &extracted.text[number];
        Some(match unit.filter(|unit| words::is_measure(unit)) {
            Some(unit) => format!("{number}\\text{{ {unit}}}"),
            None => number.to_owned(),
        })
    }

    /// Returns `\$0.85` for a last number 0.85 behind the sign, if the ground truth is in cents.
    fn in_cents(&self, response: &str, extracted: &Extracted) -> Option<String> {
        let cents = matches!(self.answer.readings.as_deref(),
            Ok([Node::Value { unit: Some(unit), .. }, ..]) if unit == "cent");
        let money = extracted.rule == Rule::LastNumber
            && response[..extracted.span.start].ends_with('$')
            && cents;
        money.then(|| format!("\\${}", extracted.text))
    }

    /// Returns the only time of a sentence, if the ground truth is one: "The train arrives at 3:40 PM."
    fn time(&self, extracted: &Extracted) -> Option<String> {
        let is_time = matches!(self.answer.readings.as_deref(),
            Ok([Node::Words(words)]) if words.starts_with("clock "));
        let time = pattern!(r"\b[0-9]{1,2}(?::[0-9]{2})? ?[AaPp]\.?[Mm]\b");
        let only = single(time.find_iter(&extracted.text).filter(|_| is_time))?;
        (!words::takes_back(&extracted.text.to_lowercase())).then(|| only.as_str().to_owned())
    }

    /// Returns the last sentence, if the ground truth names its values: "So the rank is 2 and the nullity is 1."
    fn facts_at_the_end(&self, response: &str) -> Option<String> {
        self.answer.facts.as_ref()?;
        let last = own_turn(response).trim_end().trim_end_matches(['.', '*']);
        let start = pattern!(r"[.!?:]\**\s|\n").find_iter(last).last().map_or(0, |stop| stop.end());
        Some(without(&last[start..], &["**", "$"]))
    }

    /// Returns the words of the ground truth, if the last sentence ends in them: "the equation has no real solutions".
    fn words_at_the_end(&self, response: &str) -> Option<String> {
        let gold = self.answer.words.as_deref().filter(|_| self.answer.is_words())?;
        let last = own_turn(response).trim_end().trim_end_matches(['.', '!']);
        let start = last.rfind(['.', '!', '?', '\n', ',', ':']).map_or(0, |end| end + 1);
        let sentence = last[start..].trim();
        let ends = sentence.match_indices(' ').map(|(at, _)| sentence.split_at(at + 1));
        let says = |(before, tail): (&str, &str)| {
            let verb = pattern!(
                r"\b(?:has|have|series|sequence|integral|is|are|be an?|be|facing|called|on) $"
            );
            verb.is_match(before)
                && !before.contains('(')
                && !before.ends_with("would be ")
                && !words::takes_back(&before.to_lowercase().replace("the given ", ""))
                && words::normalise(tail).as_deref() == Some(gold)
        };
        // "Therefore, the second player has a winning strategy"
        let wins = sentence.contains("win") && words::stated(sentence).as_deref() == Some(gold);
        let many =
            gold == "infinitely many" && last.to_lowercase().contains("there are infinitely many");
        // "Yes, it is possible. For instance, take 1, 4 and 9."
        let doubts = pattern!(r"(?i)\b(?:yes|but|however|if|unless|only)\b");
        let denies = pattern!(r"(?i)\b(?:no|not)\b|n['’]t\b");
        let opening = own_turn(response).trim_start().trim_start_matches('*');
        let opens = lists("yes no", gold) && starts_with_ignoring_case(opening, gold) && {
            let reason = opening[gold.len()..].trim_start_matches('*');
            let reason = reason.split("\n\n").next().unwrap_or_default();
            reason.starts_with([',', '.'])
                && !doubts.is_match(reason)
                && (gold == "no" || !denies.is_match(reason))
        };
        // "… was the same weekday: Thursday", "**Saturday**" in the first line
        let alone = |text: &str| {
            let text = text.trim().trim_matches(['*', '.', '!']);
            !text.is_empty() && words::normalise(text).as_deref() == Some(gold)
        };
        let named = last[..start].ends_with(':') && alone(sentence);
        let first = opening.split_once("\n\n").is_some_and(|(first, _)| alone(first));
        // "The steepest line is that of Evelyn. **Evelyn** has the greatest speed."
        let subject =
            pattern!(r"(?:^|[.!?\n]\s*)\*\*([^*]+)\*\* (?:has|had|is|was|got|wins|won)\b[^.*]*$");
        let subject = captured(subject, last).is_some_and(|subject| {
            alone(subject.as_str()) && !words::takes_back(&last[subject.end()..].to_lowercase())
        });
        let says = many || opens || wins || named || first || subject || ends.into_iter().any(says);
        says.then(|| gold.to_owned())
    }

    /// Compares with commas as decimal points, in a response in a language that writes them; `None` if not right.
    fn with_decimal_commas(&self, response: &str, answer: &str) -> Option<Verdict> {
        let pointed = words::with_decimal_point(answer);
        if pointed.is_none() && self.pointed.is_none() || !words::writes_decimal_commas(response) {
            return None;
        }
        let answer = Answer::parse(pointed.as_deref().unwrap_or(answer)).ok()?;
        if_right(&answer, self.pointed.as_ref().unwrap_or(&self.answer), &self.options)
    }

    /// Returns evidence that a bare answer is wrong, if [`Gold::verify_answer`] says so.
    pub fn witness(&self, answer: &str) -> Option<Witness> {
        decided(&Answer::parse(answer).ok()?, &self.answer, &self.options, true).1
    }

    /// Compares a bare answer, without extraction, with this ground truth.
    pub fn verify_answer(&self, answer: &str) -> Verdict {
        let mut parsed = match Answer::parse(answer) {
            Ok(parsed) => parsed,
            Err(why) => return Verdict::Unparsed { which: Side::Response, why },
        };
        // `\log x + C` is an integral of `1/x`.
        if self.answer.spelling.contains("\\ln") && self.answer.spelling.ends_with("+C") {
            parsed = parsed.with_natural_logarithms();
        }
        decide(&parsed, &self.answer, &self.options)
    }
}
