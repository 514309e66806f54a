//! iowhy's own measured I/O: the measurement that decides when watching is not enough.
//!
//! Empty so far: the engine and its kinds are the work of the issue "The probe".
//!
//! **Must never know:** live, read, diagnose, show; and it never writes where it was not told to.
