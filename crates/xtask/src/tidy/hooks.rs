//! The hooks of a described format are short: a function or closure of its file has at most
//! [`MOST`] lines. What needs more is a program.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::syntax::is_test;
use super::{Complaint, Source, Tree};

/// Formats are here.
const FOLDER: &str = "crates/read/src/formats";
/// What a described format calls.
const DESCRIBED: [&str; 3] = ["Format::log(", "Format::table(", "Format::labels("];
/// Lines of a hook, from its name to its last bracket.
const MOST: usize = 30;
/// Formats whose hooks are still longer.
const LONGER: [&str; 1] = ["vmstat"];

/// Checks every described format.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let described = tree.folder(FOLDER).filter(|source| {
        DESCRIBED.iter().any(|call| source.code.contains(call)) && !LONGER.contains(&source.stem())
    });
    described.flat_map(of).collect()
}

fn of(source: &Source) -> Vec<Complaint> {
    // The compiler reports what is not Rust.
    let Ok(file) = syn::parse_file(&source.text) else { return Vec::new() };
    let mut hooks = Hooks { source, found: Vec::new() };
    hooks.visit_file(&file);
    hooks.found
}

struct Hooks<'a> {
    source: &'a Source,
    found: Vec<Complaint>,
}

impl Hooks<'_> {
    fn measure(&mut self, what: &str, begin: usize, end: usize) {
        let lines = end + 1 - begin;
        if lines > MOST {
            let what = format!("{what} of {lines} lines in a described format");
            let cure = "make it simpler, with what `describe/` offers, or the format a program";
            self.found.push(Complaint::new(&self.source.path, begin, what, cure));
        }
    }
}

impl Visit<'_> for Hooks<'_> {
    fn visit_item_fn(&mut self, item: &syn::ItemFn) {
        let (begin, end) = (item.sig.span().start().line, item.block.span().end().line);
        self.measure(&format!("`{}`", item.sig.ident), begin, end);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &syn::ImplItemFn) {
        let (begin, end) = (item.sig.span().start().line, item.block.span().end().line);
        self.measure(&format!("`{}`", item.sig.ident), begin, end);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_expr_closure(&mut self, closure: &syn::ExprClosure) {
        let span = closure.span();
        self.measure("a closure", span.start().line, span.end().line);
        visit::visit_expr_closure(self, closure);
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
    fn a_long_hook_of_a_described_format_is_found() {
        let long = |lines: usize| "    go();\n".repeat(lines);
        let text = |call: &str| {
            format!(
                "const F: Format = {call}(&L);\nfn short() {{\n{}}}\nfn long() {{\n{}}}\nstatic L: \
                 Labels = Labels {{ end: Some(|a, b| {{\n{}}}) }};\n#[cfg(test)]\nmod tests {{ fn \
                 c() {{\n{}}} }}\n",
                long(MOST - 2),
                long(MOST - 1),
                long(MOST),
                long(MOST)
            )
        };
        let lines = |name: &str, call: &str| -> Vec<usize> {
            let path = format!("{FOLDER}/{name}.rs");
            let tree = Tree::of(&[(&path, &text(call))]);
            check(&tree).iter().map(|complaint| complaint.line).collect()
        };
        assert_eq!(lines("a", "Format::labels"), [MOST + 2, 2 * MOST + 3]);
        assert!(lines("a", "Format::by_line").is_empty());
        assert!(lines("vmstat", "Format::labels").is_empty());
    }
}
