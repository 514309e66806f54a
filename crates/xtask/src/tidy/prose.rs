//! No code parses prose: parts exchange data, not sentences.

use std::collections::BTreeSet;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::syntax::{expressions, is_test};
use super::{Complaint, Source, Tree};

/// Where the rule applies.
const CRATES: [&str; 6] = [
    "crates/diagnose/src/",
    "crates/iowhy/src/",
    "crates/live/src/",
    "crates/model/src/",
    "crates/probe/src/",
    "crates/show/src/",
];
/// Fields that are words for people: of a finding, of evidence, of a fact, of a note, of a loss.
const WORDS: [&str; 7] =
    ["next_step", "quantity", "read_from", "reason", "refuted_by", "sentence", "what"];
/// Methods that parse a text.
const LOOKS: [&str; 13] = [
    "contains",
    "ends_with",
    "eq_ignore_ascii_case",
    "find",
    "matches",
    "rfind",
    "rsplit",
    "rsplit_once",
    "split",
    "split_once",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
];
/// Where the verdicts are listed.
const VERDICTS: &str = "crates/model/src/verdict.rs";

/// Where words are looked into only to be set: a sentence that names its device is not reported
/// twice.
const SET: (&str, &str) = ("crates/show/src/views/summary/screen.rs", "sentence");

/// Checks every file of these crates, except tests.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let list = tree.sources.iter().find(|source| source.path == VERDICTS);
    let verdicts = list.map(names).unwrap_or_default();
    let held = |source: &&Source| {
        !source.tests && CRATES.iter().any(|start| source.path.starts_with(start))
    };
    tree.sources.iter().filter(held).flat_map(|source| of(source, &verdicts)).collect()
}

fn of(source: &Source, verdicts: &BTreeSet<String>) -> Vec<Complaint> {
    let Ok(file) = syn::parse_file(&source.text) else { return Vec::new() };
    let mut reading = Reading { source, verdicts, found: Vec::new() };
    reading.visit_file(&file);
    reading.found
}

/// The names of the verdicts, as the list has them.
fn names(list: &Source) -> BTreeSet<String> {
    struct Names(BTreeSet<String>);
    impl Visit<'_> for Names {
        fn visit_lit_str(&mut self, literal: &syn::LitStr) {
            if is_verdict(&literal.value()) {
                self.0.insert(literal.value());
            }
        }

        fn visit_macro(&mut self, of: &syn::Macro) {
            strings(of.tokens.clone(), &mut |literal| self.visit_lit_str(literal));
        }

        fn visit_item_mod(&mut self, _: &syn::ItemMod) {}
    }
    let mut names = Names(BTreeSet::new());
    if let Ok(file) = syn::parse_file(&list.text) {
        names.visit_file(&file);
    }
    names.0
}

/// `device.retry`: two words with a dot between.
fn is_verdict(text: &str) -> bool {
    let word = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c == '-')
    };
    text.split_once('.').is_some_and(|(family, name)| word(family) && word(name))
}

/// The strings among the tokens of a macro.
fn strings(tokens: proc_macro2::TokenStream, each: &mut dyn FnMut(&syn::LitStr)) {
    for token in tokens {
        match token {
            proc_macro2::TokenTree::Group(group) => strings(group.stream(), each),
            proc_macro2::TokenTree::Literal(literal) => {
                if let syn::Lit::Str(text) = syn::Lit::new(literal) {
                    each(&text);
                }
            }
            _ => {}
        }
    }
}

struct Reading<'a> {
    source: &'a Source,
    verdicts: &'a BTreeSet<String>,
    found: Vec<Complaint>,
}

impl Reading<'_> {
    fn complain(&mut self, at: proc_macro2::Span, what: String, cure: &str) {
        self.found.push(Complaint::new(&self.source.path, at.start().line, what, cure));
    }

    fn read(&mut self, at: proc_macro2::Span, field: &str) {
        if (self.source.path.as_str(), field) == SET {
            return;
        }
        let cure = "pass a type, a key or a number beside the text";
        self.complain(at, format!("code parses the text of `{field}`"), cure);
    }
}

/// The field of words that an expression is a text of: `one.what`, `&one.what[..]`,
/// `one.what.as_str()`.
fn field_of(expression: &syn::Expr) -> Option<String> {
    match expression {
        syn::Expr::Field(field) => match &field.member {
            syn::Member::Named(name) if WORDS.contains(&name.to_string().as_str()) => {
                Some(name.to_string())
            }
            _ => None,
        },
        syn::Expr::MethodCall(call) => field_of(&call.receiver),
        syn::Expr::Reference(of) => field_of(&of.expr),
        syn::Expr::Unary(of) => field_of(&of.expr),
        syn::Expr::Paren(of) => field_of(&of.expr),
        syn::Expr::Index(of) => field_of(&of.expr),
        _ => None,
    }
}

fn is_text(expression: &syn::Expr) -> bool {
    matches!(expression, syn::Expr::Lit(of) if matches!(of.lit, syn::Lit::Str(_)))
}

impl Visit<'_> for Reading<'_> {
    fn visit_expr_method_call(&mut self, call: &syn::ExprMethodCall) {
        if LOOKS.contains(&call.method.to_string().as_str())
            && let Some(field) = field_of(&call.receiver)
        {
            self.read(call.method.span(), &field);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_binary(&mut self, of: &syn::ExprBinary) {
        let equal = matches!(of.op, syn::BinOp::Eq(_) | syn::BinOp::Ne(_));
        for (one, other) in [(&of.left, &of.right), (&of.right, &of.left)] {
            if equal
                && is_text(other)
                && let Some(field) = field_of(one)
            {
                self.read(of.span(), &field);
            }
        }
        visit::visit_expr_binary(self, of);
    }

    fn visit_expr_match(&mut self, of: &syn::ExprMatch) {
        let text = |arm: &syn::Arm| matches!(&arm.pat, syn::Pat::Lit(of) if matches!(of.lit, syn::Lit::Str(_)));
        if of.arms.iter().any(text)
            && let Some(field) = field_of(&of.expr)
        {
            self.read(of.expr.span(), &field);
        }
        visit::visit_expr_match(self, of);
    }

    fn visit_lit_str(&mut self, literal: &syn::LitStr) {
        let name = literal.value();
        let own = format!("/{}.rs", name.replace(['.', '-'], "_"));
        let listed = self.source.path == VERDICTS || self.source.path.ends_with(&own);
        if self.verdicts.contains(&name) && !listed {
            let what = format!("the verdict `{name}` as a text");
            self.complain(literal.span(), what, "name its constant in the list of verdicts");
        }
    }

    fn visit_macro(&mut self, of: &syn::Macro) {
        strings(of.tokens.clone(), &mut |literal| self.visit_lit_str(literal));
        expressions(of).for_each(|one| self.visit_expr(&one));
    }

    /// Tests may check texts.
    fn visit_item_mod(&mut self, of: &syn::ItemMod) {
        if !is_test(&of.attrs) {
            visit::visit_item_mod(self, of);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let verdicts = BTreeSet::from(["device.retry".to_string()]);
        of(&Source::new(path, text), &verdicts).iter().map(|complaint| complaint.line).collect()
    }

    #[test]
    fn words_are_not_read_and_verdicts_are_no_texts() {
        let text = "fn a(loss: &Loss, one: &Evidence) {\n\
                    loss.what.starts_with(\"sda\");\n\
                    let told = format!(\"{}\", one.quantity.as_str().contains(x));\n\
                    if one.quantity == \"latency\" {}\n\
                    match one.quantity.as_str() { \"latency\" => {} _ => {} }\n\
                    let is = loss.count > 0 && line.contains(\"what\");\n\
                    let name = \"device.retry\";\n\
                    all.push(loss.what.clone());\n\
                    vec![\"device.retry\"];\n\
                    }\n\
                    #[cfg(test)]\nmod tests { fn b() { loss.what.contains(\"x\"); } }\n";
        let mut found = lines("crates/iowhy/src/a.rs", text);
        found.dedup();
        assert_eq!(found, [2, 3, 4, 5, 7, 9]);
        let own = "const NAME: &str = \"device.retry\";";
        assert!(lines("crates/diagnose/src/detectors/device_retry.rs", own).is_empty());
    }
}
