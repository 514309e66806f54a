//! The modules of `diagnose` know each other in one direction, and so do its rooms.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

use super::syntax::is_test;
use super::{Complaint, Source, Tree};

/// The crate whose modules are held.
const FOLDER: &str = "crates/diagnose/src/";

/// Which module uses which, and on what line first.
type Uses = BTreeMap<String, BTreeMap<String, usize>>;

/// Looks for a cycle among modules, then among the rooms they stand in.
pub fn check(tree: &Tree) -> Vec<Complaint> {
    let uses = uses(tree);
    let mut rooms = Uses::new();
    for (user, used) in &uses {
        for (other, line) in used.iter().filter(|(other, _)| room(other) != room(user)) {
            rooms.entry(room(user).into()).or_default().entry(room(other).into()).or_insert(*line);
        }
    }
    let found = [(cycle(&uses), "modules"), (cycle(&rooms), "rooms")].into_iter();
    let found = found.filter_map(|(cycle, of)| Some((cycle?, of)));
    found
        .map(|(cycle, of)| {
            let name = cycle.first().map(String::as_str).unwrap_or_default();
            let what = format!("a cycle of {of}: {}", cycle.join(" -> "));
            let cure = "move what both need below them";
            Complaint::new(&format!("{FOLDER}{}.rs", name.replace("::", "/")), 0, what, cure)
        })
        .collect()
}

/// The module's first name: `ranking` of `ranking::guards`.
fn room(module: &str) -> &str {
    module.split("::").next().unwrap_or(module)
}

/// What the shipped code of each module names by a path. Which modules a file declares is no use.
fn uses(tree: &Tree) -> Uses {
    let sources = tree.sources.iter().filter(|source| !source.tests);
    let named: Vec<(String, &Source)> =
        sources.filter_map(|source| Some((module(&source.path)?, source))).collect();
    let modules: BTreeSet<String> = named.iter().map(|(name, _)| name.clone()).collect();
    let used = named.iter().map(|(name, source)| {
        let mut paths = Paths { of: name, modules: &modules, used: BTreeMap::new() };
        // What is no Rust the compiler complains of.
        if let Ok(file) = syn::parse_file(&source.text) {
            paths.visit_file(&file);
        }
        (name.clone(), paths.used)
    });
    used.collect()
}

/// `analysis::audit` of `.../analysis/audit.rs`; the crate's root is the empty name.
fn module(path: &str) -> Option<String> {
    let name = path.strip_prefix(FOLDER)?.strip_suffix(".rs")?;
    Some(if name == "lib" { String::new() } else { name.replace('/', "::") })
}

/// The paths of one file.
struct Paths<'a> {
    of: &'a str,
    modules: &'a BTreeSet<String>,
    used: BTreeMap<String, usize>,
}

impl Paths<'_> {
    /// Notes the module that a path leads to: the longest of its beginnings that is one.
    fn note(&mut self, words: &[String], line: usize) {
        let Some((first, rest)) = words.split_first() else { return };
        let own = self.of.split("::").filter(|word| !word.is_empty());
        let own: Vec<String> = own.map(str::to_string).collect();
        let supers = words.iter().take_while(|word| *word == "super").count();
        let path: Vec<String> = match first.as_str() {
            "crate" => rest.to_vec(),
            "self" => own.into_iter().chain(rest.iter().cloned()).collect(),
            "super" => {
                let above = own.len().saturating_sub(supers);
                own.into_iter().take(above).chain(words.iter().skip(supers).cloned()).collect()
            }
            // A module of its own, by its bare name.
            _ => own.into_iter().chain(words.iter().cloned()).collect(),
        };
        let known = (0..=path.len()).rev().map(|end| path[..end].join("::"));
        let leads = known.into_iter().find(|name| self.modules.contains(name));
        if let Some(name) = leads.filter(|name| name != self.of) {
            self.used.entry(name).or_insert(line);
        }
    }

    fn tree(&mut self, before: &[String], tree: &syn::UseTree) {
        let with = |name: &syn::Ident| {
            let last = std::iter::once(name.to_string());
            before.iter().cloned().chain(last).collect::<Vec<String>>()
        };
        match tree {
            syn::UseTree::Path(path) => self.tree(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) if name.ident == "self" => {
                self.note(before, name.ident.span().start().line);
            }
            syn::UseTree::Name(name) => {
                self.note(&with(&name.ident), name.ident.span().start().line)
            }
            syn::UseTree::Rename(name) => {
                self.note(&with(&name.ident), name.ident.span().start().line);
            }
            syn::UseTree::Glob(glob) => self.note(before, glob.star_token.spans[0].start().line),
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.tree(before, tree));
            }
        }
    }
}

impl Visit<'_> for Paths<'_> {
    fn visit_item_use(&mut self, item: &syn::ItemUse) {
        if !is_test(&item.attrs) {
            self.tree(&[], &item.tree);
        }
    }

    fn visit_path(&mut self, path: &syn::Path) {
        let words: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        let ours = matches!(words[0].as_str(), "crate" | "self" | "super");
        let child = format!("{}::{}", self.of, words[0]);
        if words.len() > 1 && (ours || self.modules.contains(child.trim_start_matches("::"))) {
            let line = path.segments[0].ident.span().start().line;
            self.note(&words, line);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, of: &syn::Macro) {
        let list = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        if let Ok(expressions) = of.parse_body_with(list) {
            expressions.iter().for_each(|one| self.visit_expr(one));
        }
    }

    fn visit_item_mod(&mut self, item: &syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }
}

/// A cycle, its first module named again at its end.
fn cycle(uses: &Uses) -> Option<Vec<String>> {
    let mut done = BTreeSet::new();
    uses.keys().find_map(|start| walk(uses, start, &mut Vec::new(), &mut done))
}

fn walk<'a>(
    uses: &'a Uses,
    module: &'a str,
    way: &mut Vec<&'a str>,
    done: &mut BTreeSet<&'a str>,
) -> Option<Vec<String>> {
    if let Some(place) = way.iter().position(|known| *known == module) {
        let round = way[place..].iter().chain(std::iter::once(&module));
        return Some(round.map(|name| name.to_string()).collect());
    }
    if done.contains(module) {
        return None;
    }
    way.push(module);
    let next = uses.get(module).into_iter().flat_map(BTreeMap::keys);
    let found = next.into_iter().find_map(|other| walk(uses, other, way, done));
    way.pop();
    done.insert(module);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> =
            files.iter().map(|(name, text)| (format!("{FOLDER}{name}.rs"), *text)).collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
        check(&Tree::of(&files)).into_iter().map(|complaint| complaint.what).collect()
    }

    #[test]
    fn one_direction_is_no_cycle_and_tests_may_look_back() {
        let found = complaints(&[
            ("lib", "mod a;\nmod b;\npub use b::B;\n"),
            ("a", "pub struct A;\n#[cfg(test)]\nmod tests {\n use crate::b::B;\n}\n"),
            ("b", "mod c;\nuse crate::a::A;\npub struct B;\nfn d() -> A { c::e() }\n"),
            ("b/c", "use crate::a::A;\npub fn e() -> A { A }\n"),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn a_cycle_is_found_whichever_way_a_path_is_written() {
        let by_use = complaints(&[("a", "use crate::b::{self, B};"), ("b", "use super::a;")]);
        assert_eq!(by_use[0], "a cycle of modules: a -> b -> a");
        let in_code = complaints(&[
            ("a", "fn f() { let x = format!(\"{}\", crate::b::g(1)); }"),
            ("b", "fn g(n: crate::a::N) {}"),
        ]);
        assert_eq!(in_code[0], "a cycle of modules: a -> b -> a");
        let with_child =
            complaints(&[("a", "mod b;\nfn f() { b::g() }"), ("a/b", "use super::f;")]);
        assert_eq!(with_child, ["a cycle of modules: a -> a::b -> a"]);
    }

    #[test]
    fn rooms_have_one_direction_too() {
        let found = complaints(&[
            ("a/one", "use crate::b::two;"),
            ("a/three", ""),
            ("b/two", "use crate::a::three;"),
        ]);
        assert_eq!(found, ["a cycle of rooms: a -> b -> a"]);
    }
}
