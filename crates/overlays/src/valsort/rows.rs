//! Rows of slapo-valsort(5).

use ironbark_config::{Form, Setting, SettingError, SettingLevel, Statement, overlay_handler, value::parse_dn};
use ironbark_model::syntax::oid;

use super::settings::{ORDERS, Order, RuleSetting, ValsortConfig};

const VALSORT: SettingLevel = SettingLevel::Overlay("valsort");

pub(super) const ROWS: &[Setting] = &[Setting::new(VALSORT, &["valsort-attr"], &["olcValSortAttr"])
    .olc("3.5.1", Form::Texts)
    .required()
    .takes(
        "<attribute> <dn> weighted|alpha-ascend|alpha-descend|numeric-ascend|numeric-descend \
             [<order of equal weights>]",
        "",
    )
    .does(
        "Sets the order in which searches send the values of an attribute, in the entries of a subtree. `alpha`: \
             by normal forms. `numeric`, for numeric syntaxes: by the numbers. `weighted`: values are stored with a \
             weight, as `{10}text`, and sent without it, in the order of the weights; an add or modify without a \
             weight is refused with constraintViolation. Filters and compares use the stored values. The control \
             1.3.6.1.4.1.4203.666.5.14 with TRUE asks for the stored values.",
    )
    .since("2.3")
    .like(&[
        "sn ou=users,dc=example,dc=com alpha-ascend",
        "cn ou=users,dc=example,dc=com weighted",
        "description dc=example,dc=com weighted alpha-descend",
    ])
    .obeyed(overlay_handler!(ValsortConfig, add, |settings, _| {
        settings.rules.iter().map(RuleSetting::text).collect()
    }))];

fn add(settings: &mut ValsortConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let (name, base, first, second) = match statement.arguments {
        [name, base, first] => (name, base, first, None),
        [name, base, first, second] => (name, base, first, Some(second)),
        [_, _, _, _, ..] => return Err(format!("extra cruft after {}", statement.grammar).into()),
        _ => return Err(format!("missing {} argument", statement.grammar).into()),
    };
    let schema = statement.schema;
    let description = schema.attribute_description(name.as_bytes());
    let description = description.map_err(|error| format!("<{name}>: {error}"))?;
    let kind = schema.attribute_type(description.attribute_type);
    let attribute = schema.description_text(&description);
    if kind.single_value {
        statement.notice(format!("{attribute} is single-valued, ignoring"));
        return Ok(());
    }
    let base = parse_dn(statement, base).map_err(|_| "unable to normalize DN".to_owned())?;
    let is_weighted = first.eq_ignore_ascii_case("weighted");
    let order = match (is_weighted, second) {
        (true, None) => None,
        (true, Some(second)) => Some(order(second)?),
        (false, None) => Some(order(first)?),
        (false, Some(_)) => return Err(format!("extra cruft after {first}").into()),
    };
    let is_numeric = [oid::INTEGER, oid::NUMERIC_STRING].contains(&kind.syntax.oid);
    if matches!(order, Some(Order::Numeric { .. })) && !is_numeric {
        return Err("numeric sort specified for non-numeric syntax".into());
    }
    settings.rules.push(RuleSetting {
        attribute,
        base,
        is_weighted,
        order,
    });
    Ok(())
}

fn order(word: &str) -> Result<Order, SettingError> {
    let found = ORDERS.iter().find(|(known, _)| known.eq_ignore_ascii_case(word));
    found
        .map(|(_, order)| *order)
        .ok_or_else(|| "unrecognized sort type".into())
}
