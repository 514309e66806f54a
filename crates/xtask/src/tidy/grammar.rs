//! In `diagnose` text is parsed where its grammar is known, and nowhere else: a detector
//! uses functions for names, models and messages, and never parses them.

use syn::visit::{self, Visit};

use super::syntax::{expressions, is_test};
use super::{Complaint, Source, Tree};

/// The crate under this rule.
const FOLDER: &str = "crates/diagnose/src/";
/// Files that know a grammar: names, models, mount options and paths of facts; tables of the
/// crate's own; digits of numbers.
const GRAMMARS: [&str; 10] = [
    "baseline/healthy_time.rs",
    "baseline/history.rs",
    "facts.rs",
    "facts/aliases.rs",
    "facts/disk_models.rs",
    "facts/disk_names.rs",
    "facts/kernel_threads.rs",
    "facts/mount_options.rs",
    "phrase.rs",
    "ranking/calibration.rs",
];
/// Methods that parse a text, if their argument is one.
const LOOKS: [&str; 14] = [
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
    "splitn",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
];
/// And those that do whatever they are given.
const TAKES_APART: [&str; 4] =
    ["split_ascii_whitespace", "split_whitespace", "to_ascii_lowercase", "to_lowercase"];

/// Checks every file of the crate, except tests.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let held = tree.sources.iter().filter(|source| !source.tests).filter(|source| {
        source.path.strip_prefix(FOLDER).is_some_and(|name| !GRAMMARS.contains(&name))
    });
    held.flat_map(of).collect()
}

fn of(source: &Source) -> Vec<Complaint> {
    // The compiler reports what is not Rust.
    let Ok(file) = syn::parse_file(&source.text) else { return Vec::new() };
    let mut looks = Looks { source, found: Vec::new() };
    looks.visit_file(&file);
    looks.found
}

struct Looks<'a> {
    source: &'a Source,
    found: Vec<Complaint>,
}

/// Whether an expression is the text of a fact or a message: `reading.text()`, `message.text`.
fn is_text_of(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::MethodCall(call) => call.method == "text" || is_text_of(&call.receiver),
        syn::Expr::Field(field) => {
            matches!(&field.member, syn::Member::Named(name) if name == "text")
        }
        syn::Expr::Reference(of) => is_text_of(&of.expr),
        syn::Expr::Paren(of) => is_text_of(&of.expr),
        _ => false,
    }
}

/// Whether it is a string or a character, or some of them.
fn is_literal(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::Lit(of) => matches!(of.lit, syn::Lit::Str(_) | syn::Lit::Char(_)),
        syn::Expr::Array(of) => of.elems.iter().any(is_literal),
        _ => false,
    }
}

impl Visit<'_> for Looks<'_> {
    fn visit_expr_method_call(&mut self, call: &syn::ExprMethodCall) {
        let method = call.method.to_string();
        let looks = LOOKS.contains(&method.as_str())
            && (call.args.iter().any(is_literal) || is_text_of(&call.receiver));
        if looks || TAKES_APART.contains(&method.as_str()) {
            let what = format!("`{method}` parses a text");
            let cure = "classify it where it is read, or ask a grammar of `facts/`";
            let line = call.method.span().start().line;
            self.found.push(Complaint::new(&self.source.path, line, what, cure));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, of: &syn::Macro) {
        expressions(of).for_each(|one| self.visit_expr(&one));
    }

    fn visit_item_mod(&mut self, item: &syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_into_a_text_is_found_but_where_its_grammar_is_known() {
        let text = "fn a() {\n\
                    line.message.text.contains(word);\n\
                    name.ends_with(\"bps\");\n\
                    let b = format!(\"{}\", reading.text().split([',', ' ']).count());\n\
                    words.to_lowercase();\n\
                    disks.contains(&disk) && (1..2).contains(&n) && all.iter().find(is);\n\
                    }\n\
                    #[cfg(test)]\nmod tests { fn c() { d.contains(\"x\"); } }\n";
        let lines = |path: &str| -> Vec<usize> {
            let path = format!("{FOLDER}{path}");
            check(&Tree::of(&[(&path, text)])).iter().map(|complaint| complaint.line).collect()
        };
        assert_eq!(lines("detectors/device_path.rs"), [2, 3, 4, 5]);
        assert!(lines("facts/disk_names.rs").is_empty());
    }
}
