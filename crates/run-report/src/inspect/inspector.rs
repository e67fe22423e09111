//! State of the inspector, and the effect of keys.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::filter::{ALL, FILTERS, holds, matches, passes};
use super::measure::{MEASURES, TokenMeasure};
use super::palette::Palette;
use crate::run_view::{RunView, ViewedSample};

/// Depth of the view: from the run down to tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Steps,
    Groups,
    Samples,
    Tokens,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Typing {
    Search,
    Step,
}

/// State of the inspector: the run, the position in it, and the settings.
#[derive(Debug)]
pub struct Inspector {
    pub(super) view: RunView,
    pub(super) palette: Palette,
    pub(super) level: Level,
    /// Index among the steps.
    pub(super) step: usize,
    pub(super) samples: Vec<ViewedSample>,
    /// Index among `samples`.
    pub(super) sample: usize,
    pub(super) token: usize,
    /// Index among [`MEASURES`].
    measure: usize,
    /// One of [`FILTERS`].
    pub(super) filter: &'static str,
    pub(super) search: String,
    pub(super) typing: Option<(Typing, String)>,
    pub(super) message: String,
    pub(super) help: bool,
    done: bool,
}

impl Inspector {
    /// Starts at the list of steps, with the last one chosen.
    pub fn new(view: RunView, palette: Palette) -> Self {
        let step = view.steps.len().saturating_sub(1);
        Self {
            view,
            palette,
            level: Level::Steps,
            step,
            samples: Vec::new(),
            sample: 0,
            token: 0,
            measure: 0,
            filter: ALL,
            search: String::new(),
            typing: None,
            message: String::new(),
            help: false,
            done: false,
        }
    }

    /// True once the user has quit.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Looks for new steps; if the last was chosen, the new last is. A fault in the files becomes a message, not an error: they may
    /// be half written.
    pub fn refresh(&mut self) {
        let was_last = self.step + 1 >= self.view.steps.len();
        match self.view.refresh() {
            Ok(true) => {
                let count = self.view.steps.len();
                self.message = format!("{count} steps");
                if was_last && self.level == Level::Steps {
                    self.step = count.saturating_sub(1);
                }
            }
            Ok(false) => {}
            Err(error) => self.message = error.to_string(),
        }
    }

    pub(super) fn measure(&self) -> &'static TokenMeasure {
        &MEASURES[self.measure]
    }

    pub(super) fn step_number(&self) -> u64 {
        self.view.steps.get(self.step).copied().unwrap_or(0)
    }

    /// Indices of the samples that pass the filter.
    pub(super) fn passing(&self) -> Vec<usize> {
        (0..self.samples.len()).filter(|&one| passes(self.filter, &self.samples[one])).collect()
    }

    /// Indices of the passing samples in the chosen sample's group.
    pub(super) fn of_group(&self) -> Vec<usize> {
        let group = self.samples.get(self.sample).map(|sample| sample.group);
        let of_group = |&index: &usize| Some(self.samples[index].group) == group;
        self.passing().into_iter().filter(of_group).collect()
    }

    /// Index of the first passing sample of each group.
    pub(super) fn groups(&self) -> Vec<usize> {
        let mut groups = self.passing();
        groups.dedup_by_key(|index| self.samples[*index].group);
        groups
    }

    /// Handles a key.
    pub fn key(&mut self, key: KeyEvent) {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            self.done = true;
            return;
        }
        if let Some((typing, text)) = self.typing.take() {
            self.typed(typing, text, key.code);
            return;
        }
        self.message.clear();
        if std::mem::take(&mut self.help) {
            return;
        }
        if self.level == Level::Tokens && self.token_key(key.code) {
            return;
        }
        match key.code {
            KeyCode::Char('q') => self.done = true,
            KeyCode::Char('?') => self.help = true,
            KeyCode::Down | KeyCode::Char('j') => self.go(1),
            KeyCode::Up | KeyCode::Char('k') => self.go(-1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.go(10),
            KeyCode::PageUp => self.go(-10),
            KeyCode::Home | KeyCode::Char('g') => self.go(isize::MIN / 2),
            KeyCode::End | KeyCode::Char('G') => self.go(isize::MAX / 2),
            KeyCode::Enter | KeyCode::Right | KeyCode::Char('l') => self.open(),
            KeyCode::Esc | KeyCode::Left | KeyCode::Backspace | KeyCode::Char('h') => self.back(),
            KeyCode::Char('/') => self.typing = Some((Typing::Search, String::new())),
            KeyCode::Char(':') => self.typing = Some((Typing::Step, String::new())),
            KeyCode::Char('n') => self.find(true),
            KeyCode::Char('N') => self.find(false),
            KeyCode::Char('f') => self.next_filter(),
            KeyCode::Tab => self.measure = (self.measure + 1) % MEASURES.len(),
            KeyCode::Char(letter) => {
                let chosen = MEASURES.iter().position(|one| one.key == letter);
                self.measure = chosen.unwrap_or(self.measure);
            }
            _ => {}
        }
    }

    /// Handles a key that means something else among tokens; false if it does not.
    fn token_key(&mut self, code: KeyCode) -> bool {
        match code {
            KeyCode::Right | KeyCode::Char('l') => self.go_to_token(1),
            KeyCode::Left | KeyCode::Char('h') => self.go_to_token(-1),
            KeyCode::Char(']') => self.next_sample(1),
            KeyCode::Char('[') => self.next_sample(-1),
            _ => return false,
        }
        true
    }

    fn go_to_token(&mut self, by: isize) {
        let tokens = self.samples.get(self.sample).and_then(|sample| sample.tokens.as_ref());
        let last = tokens.map_or(0, |record| record.token_ids.len().saturating_sub(1));
        self.token = self.token.saturating_add_signed(by).min(last);
    }

    fn next_sample(&mut self, by: isize) {
        let passing = self.passing();
        self.sample = moved(&passing, self.sample, by);
        self.token = 0;
    }

    fn go(&mut self, by: isize) {
        match self.level {
            Level::Steps => {
                let all: Vec<usize> = (0..self.view.steps.len()).collect();
                self.step = moved(&all, self.step, by);
            }
            Level::Groups => self.sample = moved(&self.groups(), self.first_of_group(), by),
            Level::Samples => self.sample = moved(&self.of_group(), self.sample, by),
            Level::Tokens => self.go_to_token(by.saturating_mul(10)),
        }
    }

    fn first_of_group(&self) -> usize {
        self.of_group().first().copied().unwrap_or(self.sample)
    }

    fn open(&mut self) {
        match self.level {
            Level::Steps => {
                // A running run may have written more of it.
                self.samples.clear();
                self.load(self.step_number());
                self.sample = self.first_worth_opening();
                if self.samples.is_empty() {
                    let step = self.step_number();
                    self.say_unless_said(format!("step {step} has no responses"));
                    return;
                }
                self.level = Level::Groups;
            }
            Level::Groups if !self.groups().is_empty() => {
                self.sample = self.first_of_group();
                self.level = Level::Samples;
            }
            Level::Samples if !self.of_group().is_empty() => {
                self.token = 0;
                self.level = Level::Tokens;
            }
            _ => {}
        }
    }

    /// The first sample that passes and whose tokens were recorded, else the first that passes.
    fn first_worth_opening(&self) -> usize {
        let passing = self.passing();
        let recorded = passing.iter().find(|&&index| self.samples[index].tokens.is_some());
        recorded.or(passing.first()).copied().unwrap_or(0)
    }

    fn back(&mut self) {
        self.level = match self.level {
            Level::Steps | Level::Groups => Level::Steps,
            Level::Samples => Level::Groups,
            Level::Tokens => Level::Samples,
        };
    }

    fn say_unless_said(&mut self, message: String) {
        if self.message.is_empty() {
            self.message = message;
        }
    }

    fn load(&mut self, step: u64) {
        if self.samples.first().is_some_and(|sample| sample.step == step) {
            return;
        }
        self.samples = self.view.samples(step).unwrap_or_else(|error| {
            self.message = error.to_string();
            Vec::new()
        });
        self.sample = 0;
    }

    fn next_filter(&mut self) {
        let place = FILTERS.iter().position(|&filter| filter == self.filter).unwrap_or(0);
        self.filter = FILTERS[(place + 1) % FILTERS.len()];
        let passing = self.passing();
        if let Some(&nearest) = passing.iter().min_by_key(|index| index.abs_diff(self.sample)) {
            self.sample = nearest;
            self.token = 0;
        } else if self.level > Level::Groups {
            self.level = Level::Groups;
        }
    }

    fn typed(&mut self, typing: Typing, mut text: String, code: KeyCode) {
        match (code, typing) {
            (KeyCode::Esc, _) => return,
            (KeyCode::Enter, Typing::Search) => {
                self.search = text;
                return self.find(true);
            }
            (KeyCode::Enter, Typing::Step) => return self.jump(&text),
            (KeyCode::Backspace, _) => {
                text.pop();
            }
            (KeyCode::Char(character), _) => text.push(character),
            _ => {}
        }
        self.typing = Some((typing, text));
    }

    fn jump(&mut self, text: &str) {
        let Ok(wanted) = text.trim().parse::<u64>() else {
            self.message = format!("{text:?} is no step, expected a whole number");
            return;
        };
        match self.view.steps.binary_search(&wanted) {
            Ok(index) => {
                self.step = index;
                if self.level > Level::Steps {
                    self.level = Level::Steps;
                    self.open();
                }
            }
            Err(_) => self.message = format!("no step {wanted}"),
        }
    }

    /// Goes to the next sample, of this step or a later one, whose question or response holds the text; or to the previous one.
    fn find(&mut self, forward: bool) {
        if self.search.is_empty() {
            "nothing to look for: / asks for a text".clone_into(&mut self.message);
            return;
        }
        let steps = self.view.steps.clone();
        let chosen = self.sample;
        let mut from = if self.level == Level::Steps { None } else { Some(self.sample) };
        let mut place = self.step;
        while let Some(&step) = steps.get(place) {
            self.load(step);
            let passing = self.passing().into_iter();
            let mut within = passing.filter(|&index| holds(&self.samples[index], &self.search));
            let hit = match (forward, from.take()) {
                (true, from) => within.find(|&index| from.is_none_or(|from| index > from)),
                (false, from) => within.rfind(|&index| from.is_none_or(|from| index < from)),
            };
            if let Some(hit) = hit {
                (self.step, self.sample, self.level) = (place, hit, Level::Tokens);
                self.token = self.first_token_of_match();
                return;
            }
            let next = if forward { place.checked_add(1) } else { place.checked_sub(1) };
            let Some(next) = next else { break };
            place = next;
        }
        let message = std::mem::take(&mut self.message);
        self.load(self.step_number());
        self.message = message;
        self.sample = chosen.min(self.samples.len().saturating_sub(1));
        let direction = if forward { "after" } else { "before" };
        self.say_unless_said(format!("no response {direction} this one holds {:?}", self.search));
    }

    fn first_token_of_match(&self) -> usize {
        let Some(record) = self.samples.get(self.sample).and_then(|s| s.tokens.as_ref()) else {
            return 0;
        };
        let text = record.text.concat();
        let Some(&(start, _)) = matches(&text, &self.search).first() else { return 0 };
        let mut end = 0;
        let ends = record.text.iter().map(|piece| {
            end += piece.len();
            end
        });
        ends.take_while(|&end| end <= start).count()
    }
}

/// Returns the entry of `from` that lies `by` entries after `current`, clamped to its ends.
fn moved(from: &[usize], current: usize, by: isize) -> usize {
    let Some(last) = from.len().checked_sub(1) else { return current };
    let place = from.partition_point(|&index| index < current).min(last);
    from[place.saturating_add_signed(by).min(last)]
}
