//! Keys that know the type of their values, and the types themselves.
//!
//! A reader adds a number in the unit of the key: another type or unit does not compile. A value
//! that a tool prints as text is parsed by the key's kind.

use std::fmt;
use std::marker::PhantomData;

use super::{FactKey, FactValue, KeyFamily, Kind};
use crate::{Medium, Message, Nanos};

/// Bytes.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Bytes(pub u64);

/// Bytes per second.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct BytesPerSecond(pub f64);

/// Bits per second of a link.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct BitsPerSecond(pub f64);

/// Events per second.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct PerSecond(pub f64);

/// A temperature in degrees Celsius.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Celsius(pub f64);

/// A share of one.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Share(pub f64);

/// A time of day, in seconds since 1970.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct UnixSeconds(pub f64);

impl Bytes {
    /// A size given in KiB.
    pub fn from_kib(kib: u64) -> Bytes {
        Bytes(kib.saturating_mul(1024))
    }
}

impl BytesPerSecond {
    /// A rate given in KiB per second.
    pub fn from_kib(kib: f64) -> BytesPerSecond {
        BytesPerSecond(kib * 1024.0)
    }
}

impl Share {
    /// A share given in per cent.
    pub fn from_percent(percent: f64) -> Share {
        Share(percent / 100.0)
    }
}

/// What one process did or waited for.
#[derive(Clone, PartialEq, Debug)]
pub struct OfProcess<V> {
    /// How much.
    pub value: V,
    /// Which process: `mysqld (4711)`.
    pub who: String,
}

impl<V: Into<FactValue>> From<OfProcess<V>> for FactValue {
    fn from(OfProcess { value, who }: OfProcess<V>) -> FactValue {
        FactValue::OfProcess(Box::new(OfProcess { value: value.into(), who }))
    }
}

/// The text in a capture and in a list of facts, which the key's kind can parse again: `17920.0
/// KiB/s mysqld (500)`, `98.12 % mysqld (500)`, `4880 ms mysqld (500)`.
impl fmt::Display for OfProcess<FactValue> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            FactValue::BytesPerSecond(rate) => write!(out, "{:?} KiB/s ", rate / 1024.0)?,
            FactValue::Duration(length) => write!(out, "{} ms ", length.ms())?,
            FactValue::Bytes(bytes) => write!(out, "{bytes} B ")?,
            value => write!(out, "{value} ")?,
        }
        out.write_str(&self.who)
    }
}

macro_rules! words {
    ($($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $variant:ident $word:literal,)* })*) => {
        $(
            $(#[$about])*
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            pub enum $name { $($(#[$of])* $variant,)* }

            impl $name {
                /// Its word in a list of facts and in a capture.
                pub const fn name(self) -> &'static str {
                    match self { $($name::$variant => $word,)* }
                }
            }

            impl From<$name> for FactValue {
                fn from(one: $name) -> FactValue {
                    FactValue::Text(one.name().to_string())
                }
            }
        )*
    };
}

words! {
    /// The background task of an array, pool or volume.
    ArrayAction {
        /// Reads everything and compares.
        Check "check",
        /// Nothing.
        Idle "idle",
        /// Builds its redundancy for the first time.
        Init "init",
        /// Rebuilds onto a new member (a controller's word).
        Rebuild "rebuild",
        /// The same (the kernel's word).
        Recover "recover",
        /// Reads everything and corrects.
        Repair "repair",
        /// Changes its layout.
        Reshape "reshape",
        /// Rebuilds onto a new member (the word of ZFS).
        Resilver "resilver",
        /// Makes its members identical.
        Resync "resync",
        /// Reads everything and verifies.
        Scrub "scrub",
        /// A paused scrub.
        ScrubPaused "scrub paused",
    }
    /// When a run made its data durable.
    Durable {
        /// Each write waited for it.
        EachWrite "each write",
        /// The data at the end.
        Fdatasync "fdatasync",
        /// Data and metadata at the end.
        Fsync "fsync",
    }
    /// Whether the page cache was between a run and the device.
    PageCache {
        /// It was.
        Yes "yes",
        /// It was not.
        No "no",
        /// The run does not say.
        Unknown "unknown",
    }
    /// Whether a cache for writes is on.
    WriteCache {
        /// It is.
        On "on",
        /// It is not.
        Off "off",
    }
    /// What a RAID controller does with writes.
    WritePolicy {
        /// It keeps them in its cache.
        Back "write-back",
        /// It passes them on.
        Through "write-through",
    }
}

impl From<bool> for WriteCache {
    fn from(is_on: bool) -> WriteCache {
        if is_on { WriteCache::On } else { WriteCache::Off }
    }
}

macro_rules! stored_as {
    ($($type:ty, $value:pat => $stored:expr;)*) => {
        $(impl From<$type> for FactValue {
            fn from($value: $type) -> FactValue {
                $stored
            }
        })*
    };
}

stored_as! {
    String, text => FactValue::Text(text);
    Vec<String>, words => FactValue::Words(words);
    bool, is => FactValue::Flag(is);
    u64, count => FactValue::Count(count);
    f64, number => FactValue::Number(number);
    Bytes, Bytes(bytes) => FactValue::Bytes(bytes);
    BytesPerSecond, BytesPerSecond(rate) => FactValue::BytesPerSecond(rate);
    BitsPerSecond, BitsPerSecond(rate) => FactValue::BitsPerSecond(rate);
    PerSecond, PerSecond(rate) => FactValue::PerSecond(rate);
    Nanos, length => FactValue::Duration(length);
    Celsius, Celsius(degrees) => FactValue::Celsius(degrees);
    Share, Share(share) => FactValue::Share(share);
    Medium, medium => FactValue::Text(medium.name().to_string());
    UnixSeconds, UnixSeconds(seconds) => FactValue::Date(seconds);
    Message, message => FactValue::Message(message);
}

/// The type of the values of a kind.
macro_rules! type_of {
    (Any) => { $crate::FactValue };
    (Text) => { String };
    (ArrayAction) => { $crate::typed::ArrayAction };
    (Durable) => { $crate::typed::Durable };
    (Medium) => { $crate::Medium };
    (PageCache) => { $crate::typed::PageCache };
    (WriteCache) => { $crate::typed::WriteCache };
    (WritePolicy) => { $crate::typed::WritePolicy };
    (Words) => { Vec<String> };
    (Flag) => { bool };
    (Count) => { u64 };
    (Number) => { f64 };
    (Bytes) => { $crate::typed::Bytes };
    (Kib) => { $crate::typed::Bytes };
    (BytesPerSecond) => { $crate::typed::BytesPerSecond };
    (BitsPerSecond) => { $crate::typed::BitsPerSecond };
    (PerSecond) => { $crate::typed::PerSecond };
    (Nanoseconds) => { $crate::Nanos };
    (Microseconds) => { $crate::Nanos };
    (Deciseconds) => { $crate::Nanos };
    (Seconds) => { $crate::Nanos };
    (Hours) => { $crate::Nanos };
    (Celsius) => { $crate::typed::Celsius };
    (Percent) => { $crate::typed::Share };
    (Date) => { $crate::typed::UnixSeconds };
    (ProcessBytes) => { $crate::typed::OfProcess<$crate::typed::Bytes> };
    (ProcessRate) => { $crate::typed::OfProcess<$crate::typed::BytesPerSecond> };
    (ProcessShare) => { $crate::typed::OfProcess<$crate::typed::Share> };
    (ProcessTime) => { $crate::typed::OfProcess<$crate::Nanos> };
    (Message) => { $crate::Message };
}

pub(super) use type_of;

/// A key whose values have this type.
#[derive(Debug)]
pub struct Key<V> {
    key: FactKey,
    value: PhantomData<fn() -> V>,
}

impl<V> Key<V> {
    pub(super) const fn new(key: FactKey) -> Key<V> {
        Key { key, value: PhantomData }
    }

    /// The key without a type, for lookups.
    pub fn key(self) -> FactKey {
        self.key
    }
}

/// The key of a name, if its values are of one of these kinds.
fn of_kind<V>(name: &str, kinds: &[Kind]) -> Option<Key<V>> {
    let key = FactKey::named(name);
    kinds.contains(&key.kind()).then(|| Key::new(key))
}

impl Key<u64> {
    /// The key of a name, if its values are whole numbers of things.
    pub fn named(name: &str) -> Option<Key<u64>> {
        of_kind(name, &[Kind::Count])
    }
}

impl Key<Nanos> {
    /// The key of a name, if its values are lengths of time.
    pub fn named(name: &str) -> Option<Key<Nanos>> {
        of_kind(name, &[Kind::Nanoseconds, Kind::Microseconds, Kind::Seconds, Kind::Hours])
    }
}

impl Key<Share> {
    /// The key of a name, if its values are shares of one.
    pub fn named(name: &str) -> Option<Key<Share>> {
        of_kind(name, &[Kind::Percent])
    }
}

impl<V: Into<FactValue>> Key<V> {
    /// Key and value of a fact whose device is not known yet.
    pub fn with(&self, value: impl Into<V>) -> (FactKey, FactValue) {
        (self.key.clone(), value.into().into())
    }
}

impl<V> Clone for Key<V> {
    fn clone(&self) -> Key<V> {
        Key::new(self.key.clone())
    }
}

impl<V> From<Key<V>> for FactKey {
    fn from(typed: Key<V>) -> FactKey {
        typed.key
    }
}

/// A family of keys whose values have this type.
#[derive(Debug)]
pub struct Family<V> {
    family: KeyFamily,
    value: PhantomData<fn() -> V>,
}

impl<V> Family<V> {
    pub(super) const fn new(family: KeyFamily) -> Family<V> {
        Family { family, value: PhantomData }
    }

    /// One of the family, by a name that is known when this is built.
    pub const fn of(self, member: &'static str) -> Key<V> {
        Key::new(self.family.of(member))
    }

    /// One of the family.
    pub fn member(self, member: impl fmt::Display) -> Key<V> {
        Key::new(self.family.member(member.to_string()))
    }
}

impl<V> Clone for Family<V> {
    fn clone(&self) -> Family<V> {
        *self
    }
}

impl<V> Copy for Family<V> {}

impl<V> PartialEq for Family<V> {
    fn eq(&self, other: &Family<V>) -> bool {
        self.family == other.family
    }
}
