//! Nothing is extracted from an echo of the question.
//!
//! That includes a copy of it in any form, the prompt that a chat template left, and examples within the question.

use reward_math::{Gold, Options, ParseError, Side, Verdict, extract, extract_without_echo};

/// Questions that contain text like an answer.
const QUESTIONS: [&str; 16] = [
    r"Compute the value of $3+5\cdot 2$. Put your final answer within \boxed{}, for example \boxed{99}.",
    r"What is the sum of the first 99 odd numbers? Give the answer as \boxed{99} if it is 99.",
    "Natalia sold 99 clips in April and half as many in May. How many clips did she sell altogether? End your text with a line such as #### 99",
    "Solve the equation x + 1 = 100. The answer is not 99, as many believe. What is the answer?",
    "Please answer the question in the form <answer>99</answer>. How many primes are below 10?",
    "Question: What is 2 + 97? Answer: 99\nQuestion: What is the smallest prime above 100 that ends in 1? Answer:",
    "Here is an example.\nProblem: How many days have 99 hours and more?\nSolution: We count. The answer is \\boxed{99}.\nNow it is your turn.\nProblem: How many days has a week of seven days?",
    "Which number is the largest one below one hundred?\n(A) 97\n(B) 98\n(C) 99\n(D) 100\nAnswer with the letter, e.g. \"Answer: (C)\".",
    r"Find all real $x$ with $x^2 = 9801$. **Final answer: 99** is what a careless student wrote. Find his mistake.",
    r"已知一个数是99，求它的两倍。请把最终答案写在 \boxed{} 里，例如 \boxed{99}。",
    "某班有99名学生，答案是99吗？请给出理由。",
    r"Let $f(x)=\frac{x+99}{2}$. Determine $f(99)$ and write $\boxed{f(99)}$ at the end of the solution.",
    "A train travels 99 miles in 3 hours. What is its average speed in miles per hour?",
    "The correct option is C, said Tom, but Anna said that option B is correct. Who of them was right?",
    "Simplify $\\sqrt{9801}$ as far as possible.\n\nYour last line should read: The final answer is $99$. I hope it is correct.",
    "How many positive divisors does the number $99$ have? Réponse : 99 est fausse.",
];

/// Returns the usual forms of repeating a question.
fn echoes(question: &str) -> Vec<String> {
    let quoted = question.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n");
    let reflowed = question.split_whitespace().collect::<Vec<_>>().join("\n");
    vec![
        question.to_owned(),
        quoted,
        reflowed,
        question.split_whitespace().collect::<Vec<_>>().join(" "),
        format!("The question is: {question}"),
        format!("**Question:** {question}"),
        format!("\"{question}\""),
        format!("The problem says:\n\n{question}\n\nLet us begin."),
        format!("{question}\n\n{question}"),
        format!("<think>{question}</think>"),
    ]
}

/// Returns prompts as templates write them, up to the start of the model's reply.
fn templates(question: &str) -> Vec<String> {
    vec![
        format!(
            "<|im_start|>system\nPlease reason step by step, and put your final answer within \\boxed{{}}.<|im_end|>\n<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
        ),
        format!(
            "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n{question}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
        ),
        format!("<s>[INST] {question} [/INST]"),
        format!("<｜begin▁of▁sentence｜><｜User｜>{question}<｜Assistant｜>"),
        format!("<|user|>\n{question}<|end|>\n<|assistant|>\n"),
        format!("<start_of_turn>user\n{question}<end_of_turn>\n<start_of_turn>model\n"),
        format!("system\nYou are a helpful assistant.\nuser\n{question}\nassistant\n"),
        format!("User: {question}\nAssistant: "),
        format!("### Instruction:\n{question}\n\n### Response:\n"),
    ]
}

/// Replies of a model, and the answer to extract from each.
const REPLIES: [(&str, &str); 9] = [
    (r"So we get \boxed{12}.", "12"),
    (r"Hence $x = \boxed{\frac{1}{2}}$.", r"\frac{1}{2}"),
    ("We count them one by one.\n#### 12", "12"),
    ("The answer is 12.", "12"),
    ("Answer: (B)", "B"),
    ("<answer>12</answer>", "12"),
    ("所以答案是12。", "12"),
    ("After all this the result is **12**", "12"),
    ("We are left with $5 + 7 = 12$.", "12"),
];

fn plain(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '$' | '(' | ')' | ' ' | '.' | '。' | '*')).collect()
}

#[test]
fn an_echo_alone_holds_no_answer() {
    for question in QUESTIONS {
        for echo in echoes(question) {
            for options in [Options::strict(), Options::default()] {
                let extraction = extract_without_echo(&echo, question, &options);
                assert_eq!(extraction, None, "{echo}");
            }
            // Words of the introduction may be left, no number and no letter.
            let extraction = extract_without_echo(&echo, question, &Options::lenient());
            let text = extraction.map(|extracted| extracted.text).unwrap_or_default();
            let letter = text.len() == 1 && text.starts_with(char::is_alphabetic);
            let taken = letter || text.contains(|c: char| c.is_ascii_digit());
            assert!(!taken, "{text}: {echo}");
        }
    }
}

/// The model's own answer is extracted before and after the echo.
#[test]
fn the_own_answer_is_found_beside_the_echo() {
    let options = Options::lenient();
    for question in QUESTIONS {
        for echo in echoes(question) {
            for (reply, expected) in REPLIES {
                for (text, reply_start) in [
                    (format!("{echo}\n\n{reply}"), echo.len()),
                    (format!("{reply}\n\nThe question was:\n{echo}"), 0),
                ] {
                    // Only text outside of closed reasoning counts.
                    let reasoning = reply_start == 0 && echo.starts_with("<think>");
                    // A formula or bold text counts only at the end of a text.
                    let at_the_end =
                        reply_start == 0 && (reply.contains("**") || reply.contains("$5"));
                    if reasoning || at_the_end {
                        continue;
                    }
                    let extracted = extract_without_echo(&text, question, &options)
                        .unwrap_or_else(|| panic!("nothing in {text}"));
                    assert_eq!(plain(&extracted.text), plain(expected), "{extracted:?} in {text}");
                    let end = reply_start + reply.len() + 2;
                    let inside = reply_start <= extracted.span.start && extracted.span.end <= end;
                    assert!(inside, "{extracted:?} in {text}");
                }
            }
        }
    }
}

/// A prompt that a template left before the reply is detected without the question.
#[test]
fn nothing_is_taken_from_a_prompt_left_by_a_template() {
    for question in QUESTIONS {
        for prompt in templates(question) {
            for (reply, expected) in REPLIES {
                for end in
                    ["", "<|im_end|>", "<|im_end|>\n<|im_start|>user\nAnd what is \\boxed{98}?"]
                {
                    let text = format!("{prompt}{reply}{end}");
                    let extracted = extract(&text, &Options::lenient())
                        .unwrap_or_else(|| panic!("nothing in {text}"));
                    let found_text = plain(&extracted.text).replace("<|im_end|>", "");
                    assert_eq!(found_text, plain(expected), "{extracted:?} in {text}");
                    assert!(extracted.span.start >= prompt.len(), "{extracted:?} in {text}");
                }
            }
            // A reply without an answer.
            let text = format!("{prompt}I do not know.");
            assert_eq!(extract(&text, &Options::default()), None, "{text}");
        }
    }
}

/// A question that is not repeated has no effect.
#[test]
fn a_question_that_is_not_repeated_changes_nothing() {
    for question in QUESTIONS {
        for (reply, _) in REPLIES {
            for options in [Options::strict(), Options::default(), Options::lenient()] {
                let without = extract(reply, &options);
                assert_eq!(extract_without_echo(reply, question, &options), without, "{reply}");
            }
        }
    }
}

/// Neither an option that is the answer nor a sentence of the question inside the response's box is an echo.
#[test]
fn an_answer_may_stand_in_the_question() {
    let question = "Which is true?\n(A) The number of primes is finite.\n(B) The number of primes is infinite.\n(C) Neither of these two statements is true.";
    for (reply, gold) in [
        (r"\boxed{\text{The number of primes is infinite.}}", "The number of primes is infinite."),
        ("The answer is (B) The number of primes is infinite.", "B"),
        ("Answer:\n(B) The number of primes is infinite.", "B"),
    ] {
        let gold = Gold::parse(gold, &Options::default()).expect("readable").asked(question);
        let verdict = gold.verify(reply);
        assert!(verdict.is_right(), "{reply}: {verdict:?}");
    }
}

#[test]
fn a_ground_truth_that_knows_the_question_is_not_fooled_by_it() {
    let question = QUESTIONS[0];
    let gold = Gold::parse("99", &Options::strict()).expect("readable");
    let copied = format!("{question}\n\nThat is hard.");
    assert!(gold.verify(&copied).is_right(), "without the question the copy looks like an answer");
    let verdict = gold.asked(question).verify(&copied);
    assert!(matches!(verdict, Verdict::Unparsed { .. }), "{verdict:?}");
}

#[test]
fn a_formula_that_the_question_asks_to_calculate_is_no_answer() {
    let verdict = |question: &str, response: &str, gold: &str| {
        Gold::parse(gold, &Options::default()).expect("readable").asked(question).verify(response)
    };
    let integral = r"Evaluate $\int_0^1 x^2\,dx$.";
    for (question, response, gold) in [
        (integral, r"\boxed{\int_{0}^{1} x^2 dx}", r"\frac13"),
        (integral, r"\boxed{I = \int_0^1 x^2\,dx = \int_0^1 x^2\,dx}", r"\frac13"),
        (integral, r"The answer is $0 + \int_0^1 x^2\,dx$.", r"\frac13"),
        (
            r"Compute $\begin{vmatrix} 1 & 2 \\ 3 & 4 \end{vmatrix}$.",
            r"\boxed{\begin{vmatrix}1&2\\3&4\end{vmatrix}}",
            "-2",
        ),
        (r"Simplify $\dfrac{x^2-1}{x-1}$.", r"\boxed{\frac{x^2-1}{x-1}}", "x + 1"),
        ("What is 12 * 13?", r"\boxed{12 \cdot 13}", "156"),
    ] {
        let why = ParseError::Restated;
        let restated = Verdict::Unparsed { which: Side::Response, why };
        assert_eq!(verdict(question, response, gold), restated, "{response}");
        assert!(verdict("", response, gold).is_right(), "{response} without the question");
    }
    for (question, response, gold) in [
        (integral, r"\boxed{\int_0^1 x^2\,dx = \frac13}", r"\frac13"),
        (r"Let $f(x) = x^2 + 1$. Find $f(x) + f(-x)$.", r"\boxed{2(x^2 + 1)}", "2x^2 + 2"),
        (r"Is it $\frac12$ or $\frac13$?", r"\boxed{\frac12}", "0.5"),
        (r"Which is larger, $2^{10}$ or $10^2$?", r"\boxed{2^{10}}", "2^{10}"),
        (r"Which is larger? (A) $\sqrt2 + 1$ (B) $2$", r"\boxed{\text{(A) } \sqrt2 + 1}", "A"),
        (
            r"Which line is steeper, $y = 2x + 3$ or $y = x$?",
            r"\boxed{y = 2x + 3}",
            "2x - y + 3 = 0",
        ),
    ] {
        assert!(verdict(question, response, gold).is_right(), "{response}");
    }
}
