//! Queries of the syntax tree shared by several rules.

/// Whether these are the attributes of `#[cfg(test)]`.
pub(super) fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|word| word == "test")
    })
}

/// The expressions in `format!`, `assert!`, `vec!` and related ones; none of a macro that holds
/// something else.
pub(super) fn expressions(of: &syn::Macro) -> impl Iterator<Item = syn::Expr> {
    let list = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
    of.parse_body_with(list).into_iter().flatten()
}
