use model_files::chat_template::{ChatTemplate, Message};
use model_files::text_tokenizer::TextTokenizer;
use question_data::dataset::Question;
use question_data::prompt::{OverLongPrompt, PromptError, PromptFormat, Prompts};
use workspace_tests::files::folder;

use crate::tiny_model;

fn questions(problems: &[&str]) -> Vec<Question> {
    let question = |problem: &&str| Question {
        id: format!("id-{problem}"),
        problem: (*problem).to_owned(),
        answer: "0".to_owned(),
        source: "test".to_owned(),
        context: Vec::new(),
    };
    problems.iter().map(question).collect()
}

fn plain(problems: &[&str], most: usize, policy: OverLongPrompt) -> Result<Prompts, PromptError> {
    let tokenizer = TextTokenizer::load(&tiny_model()).expect("the tiny tokenizer loads");
    let format = PromptFormat { chat: false, ..PromptFormat::default() };
    format.prompts(questions(problems), &tokenizer, None, most, policy)
}

#[test]
fn plain_prompts_are_the_template_with_the_problem_in_it() {
    let tokenizer = TextTokenizer::load(&tiny_model()).unwrap();
    let format = PromptFormat {
        template: "Q: {problem}\nA:".into(),
        chat: false,
        ..PromptFormat::default()
    };
    let prompts = format
        .prompts(questions(&["1+{problem}="]), &tokenizer, None, 99, OverLongPrompt::Error)
        .unwrap();
    let expected: Vec<u32> = "Q: 1+{problem}=\nA:".bytes().map(u32::from).collect();
    assert_eq!(prompts.prompts[0].tokens, expected);
}

#[test]
fn chat_prompts_carry_a_system_message_only_where_there_is_one() {
    let source = "{% for m in messages %}[{{ m.role }}:{{ m.content }}]{% endfor %}{{ add_generation_prompt }}";
    let folder = folder(&[("chat_template.jinja", source)]);
    let template = ChatTemplate::load(folder.path()).unwrap();
    let text = |system: &str| {
        let format = PromptFormat { system: system.into(), ..PromptFormat::default() };
        format.question_text(&questions(&["2+2"])[0], template.as_ref()).unwrap()
    };
    assert_eq!(text(""), "[user:2+2]True");
    assert_eq!(text("Be brief."), "[system:Be brief.][user:2+2]True");
}

#[test]
fn chat_without_a_template_is_an_error() {
    let error = PromptFormat::default().question_text(&questions(&["2+2"])[0], None).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("expected chat_template.jinja or chat_template in tokenizer_config.json")
    );
}

#[test]
fn prompts_that_are_too_long_stop_the_run_or_are_counted() {
    let error = plain(&["1+1=", "100+1="], 4, OverLongPrompt::Error).unwrap_err();
    assert_eq!(
        error.to_string(),
        "question `id-100+1=`: prompt has 6 tokens, expected at most max_prompt_tokens = 4 (the longest of 1 such \
         prompts; over_long_prompts = \"drop\" leaves them out, \"truncate-left\" shortens them)"
    );
    let prompts = plain(&["1+1=", "100+1="], 4, OverLongPrompt::Drop).unwrap();
    assert_eq!((prompts.prompts.len(), prompts.dropped), (1, 1));
    let error = plain(&["100+1="], 4, OverLongPrompt::Drop).unwrap_err();
    assert_eq!(
        error.to_string(),
        "all 1 prompts are longer than max_prompt_tokens = 4, expected one that fits"
    );
}

#[test]
fn prompts_that_are_too_long_keep_their_end_where_the_rule_says_so() {
    let prompts = plain(&["1+1=", "100+1="], 4, OverLongPrompt::TruncateLeft).unwrap();
    let texts: Vec<&[u32]> = prompts.prompts.iter().map(|prompt| &prompt.tokens[..]).collect();
    let ids = |text: &str| text.bytes().map(u32::from).collect::<Vec<u32>>();
    assert_eq!(texts, [ids("1+1="), ids("0+1=")]);
    assert_eq!((prompts.dropped, prompts.truncated), (0, 1));
}

#[test]
fn turns_of_the_row_stand_before_the_problem() {
    let source = "{% for m in messages %}[{{ m.role }}:{{ m.content }}]{% endfor %}";
    let folder = folder(&[("chat_template.jinja", source)]);
    let template = ChatTemplate::load(folder.path()).unwrap();
    let mut question = questions(&["3+3"]).remove(0);
    let turn = |role: &str, content: &str| Message::new(role, content);
    question.context = vec![turn("system", "Brief."), turn("user", "2+2"), turn("assistant", "4")];
    let format = PromptFormat::default();
    assert_eq!(
        format.question_text(&question, template.as_ref()).unwrap(),
        "[system:Brief.][user:2+2][assistant:4][user:3+3]"
    );
    let twice = PromptFormat { system: "Long.".into(), ..PromptFormat::default() };
    let error = twice.question_text(&question, template.as_ref()).unwrap_err().to_string();
    assert!(error.starts_with("question `id-3+3`: has a system message of its own"), "{error}");
    let plain = PromptFormat { chat: false, ..PromptFormat::default() };
    let error = plain.question_text(&question, None).unwrap_err().to_string();
    assert!(error.starts_with("question `id-3+3`: has turns before the last"), "{error}");
}

#[test]
fn a_prompt_without_tokens_is_an_error() {
    let error = plain(&[""], 4, OverLongPrompt::Drop).unwrap_err();
    assert_eq!(
        error.to_string(),
        "question `id-`: the prompt has no tokens, expected at least one"
    );
}
