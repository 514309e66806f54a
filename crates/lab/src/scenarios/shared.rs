//! Scenarios in which a component shared by several disks is slow.

use super::parts::{platter_rate, visitors};
use super::peers::even_shelf;
use super::{Chance, Effect, Plan, Port, Recipe, Trace, Truth, recipe};

/// Recipes of this family.
pub(super) const RECIPES: &[Recipe] = &[
    recipe("peer.shared", "all-at-times", |chance| {
        let count = chance.whole(5, 12);
        shared(count, count, chance)
    }),
    recipe("peer.shared", "most-at-times", |chance| {
        let count = chance.whole(6, 12);
        let most = (count as f64 * chance.even(0.7, 0.9)).round() as usize;
        shared(count, most, chance)
    }),
];

/// The disks behind one expander are slow during the same periods.
fn shared(count: usize, behind: usize, chance: &mut Chance) -> Plan {
    let mut disks = even_shelf(chance, count);
    let seconds = chance.even(20.0, 45.0);
    let factor = chance.scale(5.0, 12.0);
    let mut times = Vec::new();
    let mut at = chance.even(1.0, 5.0);
    while at < seconds {
        let long = chance.scale(0.8, 4.0);
        times.push(((at * 1e9) as u64, ((at + long) * 1e9) as u64));
        at += long + chance.even(2.0, 7.0);
    }
    let share = chance.even(0.06, 0.12);
    for (place, disk) in disks.iter_mut().enumerate() {
        let rate = platter_rate(disk) * share;
        disk.streams = vec![visitors(chance, rate)];
        if place < behind {
            disk.effects.push(Effect::Together(times.clone(), factor));
        }
    }
    let port = |place| if place < behind { Port::Expander(1) } else { Port::Ata(place + 1) };
    let traces = (0..count).map(|place| Trace::Port(place, port(place)));
    Plan::shelf(Truth::sound("peer.shared"), disks, seconds).leaves(traces)
}
