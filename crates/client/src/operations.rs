//! Every operation except search, as a method. The call sends the request; the future only waits.

use ironbark_ldap_proto::{
    AddRequest, Authentication, BindRequest, CompareRequest, EncodeControl, ExtendedRequest, List, ModifyChange,
    ModifyDnRequest, ModifyOperation, ModifyRequest, PartialAttribute, Request,
    extended::{
        password_modify::{self, PasswordModifyRequest},
        who_am_i,
    },
};

use crate::{BindReply, Client, ClientError, ExtendedReply, Pending, ReceivedResult, reply::text};

/// One change of a modify request (RFC 4511 §4.6).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Change<'a> {
    /// What is done.
    pub operation: ModifyOperation,
    /// Attribute description.
    pub attribute: &'a str,
    /// Values.
    pub values: &'a [&'a [u8]],
}

impl Client {
    /// Binds with name and password. If both are empty, the bind is anonymous.
    pub fn simple_bind(
        &self,
        dn: &str,
        password: &[u8],
        controls: &[&dyn EncodeControl],
    ) -> impl Future<Output = Result<ReceivedResult, ClientError>> + Send + use<> {
        let request = Request::Bind(BindRequest {
            version: 3,
            name: dn.as_bytes(),
            authentication: Authentication::Simple(password),
        });
        let pending = self.send(&request, controls);
        async { pending?.bind_reply().await.map(|reply| reply.result) }
    }

    /// Sends one step of a SASL bind.
    pub fn sasl_bind(
        &self,
        mechanism: &str,
        credentials: Option<&[u8]>,
        controls: &[&dyn EncodeControl],
    ) -> impl Future<Output = Result<BindReply, ClientError>> + Send + use<> {
        let request = Request::Bind(BindRequest {
            version: 3,
            name: b"",
            authentication: Authentication::Sasl {
                mechanism: mechanism.as_bytes(),
                credentials,
            },
        });
        let pending = self.send(&request, controls);
        async { pending?.bind_reply().await }
    }

    /// Binds with SASL EXTERNAL (RFC 4422 appendix A) as the identity that the connection has, or as
    /// `authorization_identity`.
    pub fn external_bind(
        &self,
        authorization_identity: &str,
    ) -> impl Future<Output = Result<ReceivedResult, ClientError>> + Send + use<> {
        let reply = self.sasl_bind("EXTERNAL", Some(authorization_identity.as_bytes()), &[]);
        async { reply.await.map(|reply| reply.result) }
    }

    /// Adds an entry.
    pub fn add(
        &self,
        dn: &str,
        attributes: &[(&str, &[&[u8]])],
        controls: &[&dyn EncodeControl],
    ) -> impl Future<Output = Result<ReceivedResult, ClientError>> + Send + use<> {
        let attributes: Vec<PartialAttribute<'_>> = attributes
            .iter()
            .map(|(description, values)| PartialAttribute {
                description: description.as_bytes(),
                values: List::new(values),
            })
            .collect();
        let request = Request::Add(AddRequest {
            entry: dn.as_bytes(),
            attributes: List::new(&attributes),
        });
        result(self.send(&request, controls))
    }

    /// Changes an entry.
    pub fn modify(
        &self,
        dn: &str,
        changes: &[Change<'_>],
        controls: &[&dyn EncodeControl],
    ) -> impl Future<Output = Result<ReceivedResult, ClientError>> + Send + use<> {
        let changes: Vec<ModifyChange<'_>> = changes
            .iter()
            .map(|change| ModifyChange {
                operation: change.operation,
                attribute: change.attribute.as_bytes(),
                values: List::new(change.values),
            })
            .collect();
        let request = Request::Modify(ModifyRequest {
            object: dn.as_bytes(),
            changes: List::new(&changes),
        });
        result(self.send(&request, controls))
    }

    /// Deletes an entry.
    pub fn delete(
        &self,
        dn: &str,
        controls: &[&dyn EncodeControl],
    ) -> impl Future<Output = Result<ReceivedResult, ClientError>> + Send + use<> {
        result(self.send(&Request::Delete(dn.as_bytes()), controls))
    }

    /// Renames or moves an entry.
    pub fn modify_dn(
        &self,
        request: &ModifyDnRequest<'_>,
        controls: &[&dyn EncodeControl],
    ) -> impl Future<Output = Result<ReceivedResult, ClientError>> + Send + use<> {
        result(self.send(&Request::ModifyDn(*request), controls))
    }

    /// Compares a value; `compareTrue` or `compareFalse`.
    pub fn compare(
        &self,
        dn: &str,
        attribute: &str,
        value: &[u8],
        controls: &[&dyn EncodeControl],
    ) -> impl Future<Output = Result<ReceivedResult, ClientError>> + Send + use<> {
        let request = Request::Compare(CompareRequest {
            entry: dn.as_bytes(),
            attribute: attribute.as_bytes(),
            value,
        });
        result(self.send(&request, controls))
    }

    /// Sends an extended request.
    pub fn extended(
        &self,
        name: &str,
        value: Option<&[u8]>,
        controls: &[&dyn EncodeControl],
    ) -> impl Future<Output = Result<ExtendedReply, ClientError>> + Send + use<> {
        let request = Request::Extended(ExtendedRequest {
            name: name.as_bytes(),
            value,
        });
        let pending = self.send(&request, controls);
        async { pending?.extended_reply().await }
    }

    /// Asks which identity the server assigns to this connection (RFC 4532); empty for anonymous.
    pub fn who_am_i(&self) -> impl Future<Output = Result<String, ClientError>> + Send + use<> {
        let reply = self.extended(who_am_i::OID, None, &[]);
        async {
            let reply = reply.await?;
            reply.result.success()?;
            Ok(text(&reply.value.unwrap_or_default()))
        }
    }

    /// Changes a password (RFC 3062). Returns the password that the server generated, if it generated one.
    pub fn password_modify(
        &self,
        request: &PasswordModifyRequest<'_>,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, ClientError>> + Send + use<> {
        let mut value = Vec::new();
        request.encode(&mut value);
        let reply = self.extended(password_modify::OID, Some(&value), &[]);
        async {
            let reply = reply.await?;
            reply.result.success()?;
            let Some(value) = reply.value else { return Ok(None) };
            password_modify::decode_generated_password(&value)
                .map(|password| password.map(<[u8]>::to_vec))
                .map_err(|fault| ClientError::Protocol(fault.to_string()))
        }
    }
}

async fn result(pending: Result<Pending, ClientError>) -> Result<ReceivedResult, ClientError> {
    pending?.result().await
}
