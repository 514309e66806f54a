//! Areas of a disk that are hard to read.

use iowhy_model::Op;

use super::Outcome;
use crate::disk::Request;
use crate::scenarios::Chance;

/// The drive tries in vain, or nearly so.
pub(super) fn scars(
    places: &[(u64, u64)],
    tries: u64,
    fails: bool,
    request: &Request,
    fate: &mut Outcome,
    chance: &mut Chance,
) {
    let end = request.offset + u64::from(request.bytes);
    let touches = |(start, length): &(u64, u64)| request.offset < start + length && *start < end;
    if request.op != Op::Read || !places.iter().any(touches) {
        return;
    }
    let tried = if fails { 1.0 } else { chance.scale(0.25, 1.0) };
    fate.due += (tries as f64 * tried) as u64;
    fate.failed |= fails;
}
