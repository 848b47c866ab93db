//! Increment (RFC 4525): adds a number to each value of an attribute of INTEGER syntax.

use ironbark_model::ResultCode;

use crate::OperationError;

/// Each value with the increment added; `None` when the increment is zero.
///
/// # Errors
/// `invalidAttributeSyntax` for numbers beyond 64 bits.
pub(super) fn incremented(values: &[Vec<u8>], increment: &[u8]) -> Result<Option<Vec<Vec<u8>>>, OperationError> {
    let refuse = |what: &str| {
        OperationError::new(
            ResultCode::INVALID_ATTRIBUTE_SYNTAX,
            format!("modify/increment: invalid syntax of {what}"),
        )
    };
    let increment = number(increment).ok_or_else(|| refuse("increment"))?;
    if increment == 0 {
        return Ok(None);
    }
    values
        .iter()
        .map(|value| {
            let sum = number(value).and_then(|value| value.checked_add(increment));
            sum.map(|sum| sum.to_string().into_bytes())
                .ok_or_else(|| refuse("original value"))
        })
        .collect::<Result<_, _>>()
        .map(Some)
}

fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::incremented;

    #[test]
    fn each_value_grows_and_overflow_is_refused() {
        let values = [b"5".to_vec(), b"-7".to_vec()];
        assert_eq!(
            incremented(&values, b"3").expect("fits"),
            Some(vec![b"8".to_vec(), b"-4".to_vec()])
        );
        assert_eq!(incremented(&values, b"0").expect("fits"), None);
        assert!(incremented(&[i64::MAX.to_string().into_bytes()], b"1").is_err());
        assert!(incremented(&values, b"99999999999999999999").is_err());
    }
}
