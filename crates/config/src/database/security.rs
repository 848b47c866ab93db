//! `security`: how well a connection must be protected for its requests.

/// The demanded security strength factors; 0 demands nothing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SecurityFactors {
    /// `ssf`: of the strongest protection of the connection.
    pub ssf: u32,
    /// `transport`: of the socket, for example ldapi://.
    pub transport: u32,
    /// `tls`.
    pub tls: u32,
    /// `sasl`.
    pub sasl: u32,
    /// `update_ssf`, and so on: for requests that change something.
    pub update_ssf: u32,
    /// `update_transport`.
    pub update_transport: u32,
    /// `update_tls`.
    pub update_tls: u32,
    /// `update_sasl`.
    pub update_sasl: u32,
    /// `simple_bind`: for simple binds.
    pub simple_bind: u32,
}

impl SecurityFactors {
    pub(crate) fn fields(&mut self) -> [(&'static str, &mut u32); 9] {
        [
            ("ssf", &mut self.ssf),
            ("transport", &mut self.transport),
            ("tls", &mut self.tls),
            ("sasl", &mut self.sasl),
            ("update_ssf", &mut self.update_ssf),
            ("update_transport", &mut self.update_transport),
            ("update_tls", &mut self.update_tls),
            ("update_sasl", &mut self.update_sasl),
            ("simple_bind", &mut self.simple_bind),
        ]
    }
}
