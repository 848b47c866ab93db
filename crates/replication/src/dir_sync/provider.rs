//! The searches at a provider with the DirSync control.

use ironbark_client::{Client, ReceivedResult, Search, SearchStream};
use ironbark_ldap_proto::{
    EncodeControl, Filter, Scope,
    controls::{Control, DirSyncRequest, DirSyncResponse, ExtendedNames, ShowDeleted, ShowRecycled, dir_sync},
};
use ironbark_model::ResultCode;

use super::GUID;
use crate::{
    SyncreplLine, Violation,
    session::{Failure, ended_with, proxied},
};

/// Depth of a filter.
const FILTER_DEPTH: usize = 250;
/// The filter of everything.
const EVERYTHING: &str = "(objectClass=*)";
/// A filter that no entry matches: no object has this GUID.
const NOTHING: &str = "(objectGUID=\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00\\00)";
/// Octets of a cookie. It has a few for each domain controller.
const LONGEST_COOKIE: usize = 1 << 20;
/// Results with which a provider refuses a cookie: it cannot read it, or it is too old.
const REFUSALS: [ResultCode; 7] = [
    ResultCode::OPERATIONS_ERROR,
    ResultCode::PROTOCOL_ERROR,
    ResultCode::UNAVAILABLE_CRITICAL_EXTENSION,
    ResultCode::CONSTRAINT_VIOLATION,
    ResultCode::INVALID_ATTRIBUTE_SYNTAX,
    ResultCode::UNWILLING_TO_PERFORM,
    ResultCode::OTHER,
];

/// A provider, over one connection.
pub(crate) struct Provider<'a> {
    client: &'a Client,
    line: &'a SyncreplLine,
}

/// The end of one answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// The cookie of everything that was sent so far.
    pub(crate) cookie: Vec<u8>,
    pub(crate) has_more: bool,
}

impl<'a> Provider<'a> {
    pub(crate) fn of(client: &'a Client, line: &'a SyncreplLine) -> Self {
        Self { client, line }
    }

    /// Whether the line has a filter that leaves something out.
    pub(crate) fn has_filter(&self) -> bool {
        !self.line.request.filter.eq_ignore_ascii_case(EVERYTHING)
    }

    /// The GUID of the base: another domain of the same name has another one.
    ///
    /// # Errors
    /// The base cannot be read.
    pub(crate) async fn base_guid(&self) -> Result<Vec<u8>, Failure> {
        let base = &self.line.request.base;
        let search = Search::new(base, Scope::BaseObject, parsed(EVERYTHING)?).with_attributes(&[GUID]);
        let found = self.search(&search, &[])?.collect().await?;
        if found.result.code != ResultCode::SUCCESS {
            let (code, text) = (found.result.code, &found.result.diagnostic);
            return Err(Failure::Provider(ended_with(code, text)));
        }
        let guid = found.entries.first().and_then(|entry| entry.values(GUID).first());
        guid.cloned()
            .ok_or_else(|| Failure::Provider(format!("the provider does not show the objectGUID of \"{base}\"")))
    }

    /// Asks for everything that matches the filter of the line and has changed since this cookie.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) fn matching(&self, cookie: &[u8]) -> Result<SearchStream, Failure> {
        self.since(cookie, &self.line.request.filter)
    }

    /// Asks for everything that has changed since this cookie: what has ceased to match the filter has changed, too.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) fn changes(&self, cookie: &[u8]) -> Result<SearchStream, Failure> {
        self.since(cookie, EVERYTHING)
    }

    /// The cookie of how everything is now.
    ///
    /// # Errors
    /// The provider has none.
    pub(crate) async fn cookie_of_now(&self) -> Result<Vec<u8>, Failure> {
        let mut cookie = Vec::new();
        loop {
            let mut stream = self.since(&cookie, NOTHING)?;
            while stream.next().await?.is_some() {}
            let page = page_of(stream.result(), &cookie)?;
            cookie = page.cookie;
            if !page.has_more {
                return Ok(cookie);
            }
        }
    }

    fn since(&self, cookie: &[u8], filter: &str) -> Result<SearchStream, Failure> {
        let request = &self.line.request;
        let attributes: Vec<&str> = request.attributes.iter().map(String::as_str).collect();
        let search = Search {
            size_limit: request.size_limit,
            time_limit: request.time_limit,
            ..Search::new(&request.base, request.scope, parsed(filter)?).with_attributes(&attributes)
        };
        let dir_sync = Control::critical(DirSyncRequest {
            incremental_values: true,
            cookie,
        });
        let names = Control::optional(ExtendedNames);
        let deleted = Control::critical(ShowDeleted);
        // Windows 2008 and older ones do not know it.
        let recycled = Control::optional(ShowRecycled);
        if cookie.is_empty() {
            return self.search(&search, &[&dir_sync, &names]);
        }
        self.search(&search, &[&dir_sync, &names, &deleted, &recycled])
    }

    fn search(&self, search: &Search<'_>, controls: &[&dyn EncodeControl]) -> Result<SearchStream, Failure> {
        let proxied = proxied(self.line);
        let mut all = controls.to_vec();
        all.extend(proxied.iter().map(|control| control as &dyn EncodeControl));
        Ok(self.client.search(search, &all)?.with_timeout(self.line.patience))
    }
}

/// A second connection that finds out whether entries match the filter of the line: the first one is busy with the
/// changes, and their number is not bounded.
pub(crate) struct Matching<'a> {
    line: &'a SyncreplLine,
    client: Option<Client>,
}

impl<'a> Matching<'a> {
    pub(crate) fn of(line: &'a SyncreplLine) -> Self {
        Self { line, client: None }
    }

    /// Whether the entry of this UUID is there and matches.
    ///
    /// # Errors
    /// The connection is lost, or the provider does not say.
    pub(crate) async fn holds(&mut self, uuid: [u8; 16]) -> Result<bool, Failure> {
        let client = match &mut self.client {
            Some(client) => client,
            none => none.insert(Client::connect(&self.line.connection).await?),
        };
        let base = guid_name(uuid);
        let filter = parsed(&self.line.request.filter)?;
        let search = Search::new(&base, Scope::BaseObject, filter).with_attributes(&["1.1"]);
        let found = Provider::of(client, self.line).search(&search, &[])?.collect().await?;
        match found.result.code {
            ResultCode::SUCCESS => Ok(!found.entries.is_empty()),
            ResultCode::NO_SUCH_OBJECT => Ok(false),
            code => Err(Failure::Provider(ended_with(code, &found.result.diagnostic))),
        }
    }
}

/// The name of an entry by its GUID (MS-ADTS §3.1.1.3.1.2.4). The first three groups have their octets the other way
/// round.
fn guid_name(uuid: [u8; 16]) -> String {
    format!("<GUID={}>", uuid::Uuid::from_bytes_le(uuid).hyphenated())
}

/// The end of an answer to a question with this cookie.
///
/// # Errors
/// [`Failure::Gap`]: the provider refuses the cookie. It does not know the control, the search has failed, or there
/// would be no end.
pub(crate) fn page_of(result: Option<&ReceivedResult>, asked: &[u8]) -> Result<Page, Failure> {
    let Some(result) = result else {
        return Err(Failure::Provider("the search has no result".to_owned()));
    };
    if result.code != ResultCode::SUCCESS {
        let text = ended_with(result.code, &result.diagnostic);
        return Err(match result.code {
            code if !asked.is_empty() && REFUSALS.contains(&code) => {
                Failure::Gap(format!("the provider refuses the DirSync cookie: {text}"))
            }
            ResultCode::UNAVAILABLE_CRITICAL_EXTENSION => {
                Failure::Provider(format!("the provider does not know the DirSync control: {text}"))
            }
            ResultCode::INSUFFICIENT_ACCESS_RIGHTS => Failure::Provider(format!(
                "{text} (searchbase must be a naming context, and binddn needs the right \"Replicating Directory Changes\")"
            )),
            _ => Failure::Provider(text),
        });
    }
    let Some(value) = result.control(dir_sync::OID) else {
        let text = "the result has no DirSync control: the provider does not know it";
        return Err(Failure::Provider(text.to_owned()));
    };
    let malformed = |text: &str| Failure::Violation(Violation::Malformed(text.to_owned()));
    let response = DirSyncResponse::decode_value(value).map_err(|fault| malformed(fault.diagnostic))?;
    if response.cookie.is_empty() || response.cookie.len() > LONGEST_COOKIE {
        return Err(malformed("the DirSync cookie is empty or too long"));
    }
    if response.has_more && response.cookie == asked {
        return Err(malformed("there is more to come with the same DirSync cookie again"));
    }
    Ok(Page {
        cookie: response.cookie.to_vec(),
        has_more: response.has_more,
    })
}

fn parsed(filter: &str) -> Result<Filter<'_>, Failure> {
    Filter::parse(filter.as_bytes(), FILTER_DEPTH).map_err(|_| Failure::Filter(filter.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ironbark_client::ReceivedControl as Received;

    fn result(code: ResultCode, value: Option<Vec<u8>>) -> ReceivedResult {
        let control = value.map(|value| Received {
            oid: dir_sync::OID.to_owned(),
            critical: false,
            value: Some(value),
        });
        ReceivedResult {
            code,
            matched_dn: String::new(),
            diagnostic: "text".to_owned(),
            referrals: Vec::new(),
            controls: control.into_iter().collect(),
        }
    }

    fn value(has_more: bool, cookie: &[u8]) -> Vec<u8> {
        let element = |tag: u8, content: &[u8]| {
            let length = u32::try_from(content.len()).unwrap().to_be_bytes();
            [&[tag, 0x84][..], &length, content].concat()
        };
        let numbers = [2, 1, u8::from(has_more), 2, 1, 0];
        element(0x30, &[&numbers[..], &element(4, cookie)].concat())
    }

    #[test]
    fn only_a_cookie_can_be_refused_and_nothing_goes_on_without_end() {
        let page = |result: ReceivedResult, asked: &[u8]| page_of(Some(&result), asked);
        let new = page(result(ResultCode::SUCCESS, Some(value(true, b"new"))), b"old").unwrap();
        assert_eq!((new.has_more, &*new.cookie), (true, &b"new"[..]));
        assert!(page(result(ResultCode::SUCCESS, Some(value(false, b"old"))), b"old").is_ok());
        let failure = |code, value, asked: &[u8]| page(result(code, value), asked).unwrap_err();
        let unavailable = ResultCode::UNAVAILABLE_CRITICAL_EXTENSION;
        for code in [unavailable, ResultCode::UNWILLING_TO_PERFORM, ResultCode::OTHER] {
            assert!(matches!(failure(code, None, b"old"), Failure::Gap(_)));
        }
        for code in [
            ResultCode::BUSY,
            ResultCode::UNAVAILABLE,
            ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
        ] {
            assert!(matches!(failure(code, None, b"old"), Failure::Provider(_)));
        }
        let text = failure(unavailable, None, b"").to_string();
        assert!(
            text.starts_with("the provider does not know the DirSync control: "),
            "{text}"
        );
        let long = vec![0; LONGEST_COOKIE + 1];
        for (value, told) in [
            (Some(value(true, b"old")), "the same DirSync cookie again"),
            (Some(value(false, b"")), "empty or too long"),
            (Some(value(false, &long)), "empty or too long"),
            (Some(b"\x30".to_vec()), "could not be decoded"),
            (None, "has no DirSync control"),
        ] {
            let text = failure(ResultCode::SUCCESS, value, b"old").to_string();
            assert!(text.contains(told), "{text}");
        }
    }

    #[test]
    fn an_entry_is_named_by_its_guid_as_windows_writes_it() {
        let uuid = 0x096b_dca2_3160_594b_9c93_3b74_0f16_cfb3_u128.to_be_bytes();
        assert_eq!(guid_name(uuid), "<GUID=a2dc6b09-6031-4b59-9c93-3b740f16cfb3>");
    }
}
