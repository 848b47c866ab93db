//! String preparation for matching (RFC 4518).
