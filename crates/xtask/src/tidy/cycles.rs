//! The modules of a crate use each other in one direction: a part may use what the module above it
//! offers to its parts, and nothing else leads back. In `diagnose` not even that is allowed, and
//! its folders have an order, too.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

use super::syntax::is_test;
use super::{Complaint, Source, Tree};

/// The crate with stricter rules: each of its folders uses only those above it, and no part uses
/// the module that contains it.
const ROOMS: &str = "crates/diagnose/src/";

/// Which module uses which, and on what line first.
type Uses = BTreeMap<String, BTreeMap<String, usize>>;

/// Looks in each crate for cycles among modules.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let folder = |source: &Source| {
        let end = source.path.find("/src/")? + "/src/".len();
        source.path.get(..end).map(str::to_string)
    };
    let shipped = tree.sources.iter().filter(|source| !source.tests);
    let folders: BTreeSet<String> = shipped.filter_map(folder).collect();
    folders.iter().flat_map(|folder| of_crate(tree, folder)).collect()
}

fn of_crate(tree: &Tree, folder: &str) -> Vec<Complaint> {
    let uses = uses(tree, folder);
    let mut rooms = Uses::new();
    for (user, used) in uses.iter().filter(|_| folder == ROOMS) {
        for (other, line) in used.iter().filter(|(other, _)| room(other) != room(user)) {
            rooms.entry(room(user).into()).or_default().entry(room(other).into()).or_insert(*line);
        }
    }
    let modules = cycles(&uses).into_iter().map(|cycle| (cycle, "modules"));
    let found = modules.chain(cycles(&rooms).into_iter().map(|cycle| (cycle, "rooms")));
    found
        .map(|(cycle, of)| {
            let name = cycle.first().map(String::as_str).unwrap_or_default();
            let line = cycle.get(1).and_then(|next| uses.get(name)?.get(next)).copied();
            let what = format!("a cycle of {of}: {}", cycle.join(" -> "));
            let cure = "move what both need below them";
            let file = format!("{folder}{}.rs", name.replace("::", "/"));
            Complaint::new(&file, line.unwrap_or(0), what, cure)
        })
        .collect()
}

/// The module's first name: `ranking` of `ranking::guards`.
fn room(module: &str) -> &str {
    module.split("::").next().unwrap_or(module)
}

/// What the shipped code of each module names by a path. Which modules a file declares is no use.
fn uses(tree: &Tree, folder: &str) -> Uses {
    let sources = tree.sources.iter().filter(|source| !source.tests);
    let own: Vec<&Source> = sources.filter(|source| source.path.starts_with(folder)).collect();
    let is_library = own.iter().any(|source| source.path == format!("{folder}lib.rs"));
    // The compiler reports what is not Rust.
    let files: Vec<(String, syn::File)> = own
        .iter()
        .filter_map(|source| {
            Some((module(&source.path, folder, is_library)?, syn::parse_file(&source.text).ok()?))
        })
        .collect();
    let modules: BTreeSet<String> = files.iter().map(|(name, _)| name.clone()).collect();
    // Imports of a module may be named as its own by other modules.
    let mut passed_on = BTreeMap::new();
    for (name, file) in &files {
        let mut paths = Paths { of: name, modules: &modules, used: Vec::new() };
        for item in &file.items {
            if let syn::Item::Use(item) = item {
                paths.visit_item_use(item);
            }
        }
        let of_others =
            paths.used.into_iter().filter(|(from, word, _)| from != name && !word.is_empty());
        passed_on.extend(of_others.map(|(from, word, _)| ((name.clone(), word), from)));
    }
    let used = files.iter().map(|(name, file)| {
        let mut paths = Paths { of: name, modules: &modules, used: Vec::new() };
        paths.visit_file(file);
        let mut used = BTreeMap::new();
        for (mut from, word, line) in paths.used {
            // What a module passes on is of the module that it comes from.
            while let Some(next) = passed_on.get(&(from.clone(), word.clone())) {
                from.clone_from(next);
            }
            if from != *name && (folder == ROOMS || !is_above(&from, name)) {
                used.entry(from).or_insert(line);
            }
        }
        (name.clone(), used)
    });
    used.collect()
}

/// Whether a module is a part of another one: it may use what that one has for its parts.
fn is_above(module: &str, part: &str) -> bool {
    module.is_empty() || part.strip_prefix(module).is_some_and(|rest| rest.starts_with("::"))
}

/// `analysis::audit` of `.../analysis/audit.rs`; the crate's root is the empty name.
fn module(path: &str, folder: &str, is_library: bool) -> Option<String> {
    let name = path.strip_prefix(folder)?.strip_suffix(".rs")?;
    let is_root = name == "lib" || name == "main" && !is_library;
    Some(if is_root { String::new() } else { name.replace('/', "::") })
}

/// The paths of one file.
struct Paths<'a> {
    of: &'a str,
    modules: &'a BTreeSet<String>,
    /// A module, the first word after it, and the line.
    used: Vec<(String, String, usize)>,
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
        let known = (0..=path.len()).rev().map(|end| (end, path[..end].join("::")));
        let leads = known.into_iter().find(|(_, name)| self.modules.contains(name));
        if let Some((end, name)) = leads {
            self.used.push((name, path.get(end).cloned().unwrap_or_default(), line));
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

/// Cycles, the first module of each named again at its end: one for each use that closes one.
fn cycles(uses: &Uses) -> Vec<Vec<String>> {
    let (mut done, mut found) = (BTreeSet::new(), Vec::new());
    uses.keys().for_each(|start| walk(uses, start, &mut Vec::new(), &mut done, &mut found));
    found
}

fn walk<'a>(
    uses: &'a Uses,
    module: &'a str,
    way: &mut Vec<&'a str>,
    done: &mut BTreeSet<&'a str>,
    found: &mut Vec<Vec<String>>,
) {
    if let Some(place) = way.iter().position(|known| *known == module) {
        let round = way[place..].iter().chain(std::iter::once(&module));
        return found.push(round.map(|name| name.to_string()).collect());
    }
    if done.contains(module) {
        return;
    }
    way.push(module);
    let next = uses.get(module).into_iter().flat_map(BTreeMap::keys);
    next.into_iter().for_each(|other| walk(uses, other, way, done, found));
    way.pop();
    done.insert(module);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> =
            files.iter().map(|(name, text)| (format!("{ROOMS}{name}.rs"), *text)).collect();
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
    fn a_part_may_use_what_is_above_it_and_what_is_passed_on_is_of_whom_it_comes_from() {
        let check = |files: &[(&str, &str)]| -> Vec<String> {
            check(&Tree::of(files)).into_iter().map(|complaint| complaint.what).collect()
        };
        let part = [
            ("crates/x/src/lib.rs", "mod a;\nmod c;\npub use c::C;\npub fn f() { a::b() }"),
            ("crates/x/src/a.rs", "mod b;\nuse crate::C;\npub use b::g;\npub struct A;"),
            ("crates/x/src/a/b.rs", "use super::{A, C};\npub fn g() {}"),
            ("crates/x/src/c.rs", "pub struct C;"),
        ];
        assert!(check(&part).is_empty(), "{:?}", check(&part));
        // `c` uses what `a` passes on of its part, and that one uses `C`, which the root passes on.
        let mut back = part;
        back[3].1 = "pub struct C;\nuse crate::a::g;";
        assert_eq!(check(&back), ["a cycle of modules: a::b -> c -> a::b"]);
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
