//! Admission of requests: the refusals of a server and its databases that apply to everyone.

pub(crate) mod controls;
pub(crate) mod database;
mod security;
mod shadow;

pub(crate) use self::{
    database::{check_bind, check_extended, check_restrictions},
    shadow::refuse_if_shadow,
};
