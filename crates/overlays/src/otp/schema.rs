//! The OATH-LDAP schema, <https://oath-ldap.stroeder.com>.

/// Its attributes and classes, as slapd defines them.
pub(super) const SCHEMA: &str = "\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.1 NAME 'oathSecret' DESC 'OATH-LDAP: Shared Secret (possibly \
    encrypted with public key in oathEncKey)' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE EQUALITY octetStringMatch SUBSTR \
    octetStringSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.2 NAME 'oathTokenSerialNumber' DESC 'OATH-LDAP: Proprietary \
    hardware token serial number assigned by vendor' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE EQUALITY caseIgnoreMatch \
    SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.44{64} )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.3 NAME 'oathTokenIdentifier' DESC 'OATH-LDAP: Globally unique OATH \
    token identifier' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE EQUALITY caseIgnoreMatch SYNTAX \
    1.3.6.1.4.1.1466.115.121.1.15{256} )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.4 NAME 'oathParamsEntry' DESC 'OATH-LDAP: DN pointing to OATH \
    parameter/policy object' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE SUP distinguishedName )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.4.1 NAME 'oathTOTPTimeStepPeriod' DESC 'OATH-LDAP: Time window for \
    TOTP (seconds)' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE EQUALITY integerMatch ORDERING integerOrderingMatch SYNTAX \
    1.3.6.1.4.1.1466.115.121.1.27 )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.5 NAME 'oathOTPLength' DESC 'OATH-LDAP: Length of OTP (number of \
    digits)' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE EQUALITY integerMatch ORDERING integerOrderingMatch SYNTAX \
    1.3.6.1.4.1.1466.115.121.1.27 )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.5.1 NAME 'oathHOTPParams' DESC 'OATH-LDAP: DN pointing to HOTP \
    parameter object' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE SUP oathParamsEntry )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.5.2 NAME 'oathTOTPParams' DESC 'OATH-LDAP: DN pointing to TOTP \
    parameter object' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE SUP oathParamsEntry )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.6 NAME 'oathHMACAlgorithm' DESC 'OATH-LDAP: HMAC algorithm used \
    for generating OTP values' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE EQUALITY objectIdentifierMatch SYNTAX \
    1.3.6.1.4.1.1466.115.121.1.38 )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.7 NAME 'oathTimestamp' DESC 'OATH-LDAP: Timestamp (not directly \
    used).' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE EQUALITY generalizedTimeMatch ORDERING generalizedTimeOrderingMatch \
    SYNTAX 1.3.6.1.4.1.1466.115.121.1.24 )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.7.1 NAME 'oathLastFailure' DESC 'OATH-LDAP: Timestamp of last \
    failed OATH validation' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE SUP oathTimestamp )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.7.2 NAME 'oathLastLogin' DESC 'OATH-LDAP: Timestamp of last \
    successful OATH validation' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE SUP oathTimestamp )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.7.3 NAME 'oathSecretTime' DESC 'OATH-LDAP: Timestamp of generation \
    of oathSecret attribute.' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE SUP oathTimestamp )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.8 NAME 'oathSecretMaxAge' DESC 'OATH-LDAP: Time in seconds for \
    which the shared secret (oathSecret) will be valid from oathSecretTime value.' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE \
    EQUALITY integerMatch ORDERING integerOrderingMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.9 NAME 'oathToken' DESC 'OATH-LDAP: DN pointing to OATH token \
    object' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE SUP distinguishedName )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.9.1 NAME 'oathHOTPToken' DESC 'OATH-LDAP: DN pointing to OATH/HOTP \
    token object' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE SUP oathToken )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.9.2 NAME 'oathTOTPToken' DESC 'OATH-LDAP: DN pointing to OATH/TOTP \
    token object' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE SUP oathToken )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.10 NAME 'oathCounter' DESC 'OATH-LDAP: Counter for OATH data (not \
    directly used)' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE EQUALITY integerMatch ORDERING integerOrderingMatch SYNTAX \
    1.3.6.1.4.1.1466.115.121.1.27 )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.10.1 NAME 'oathFailureCount' DESC 'OATH-LDAP: OATH failure \
    counter' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE SUP oathCounter )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.10.2 NAME 'oathHOTPCounter' DESC 'OATH-LDAP: Counter for HOTP' \
    X-ORIGIN 'OATH-LDAP' SINGLE-VALUE SUP oathCounter )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.10.3 NAME 'oathHOTPLookAhead' DESC 'OATH-LDAP: Look-ahead window \
    for HOTP' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE SUP oathCounter )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.10.5 NAME 'oathThrottleLimit' DESC 'OATH-LDAP: Failure throttle \
    limit' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE SUP oathCounter )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.10.6 NAME 'oathTOTPLastTimeStep' DESC 'OATH-LDAP: Last time step \
    seen for TOTP (time/period)' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE SUP oathCounter )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.10.7 NAME 'oathMaxUsageCount' DESC 'OATH-LDAP: Maximum number of \
    times a token can be used' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE SUP oathCounter )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.10.8 NAME 'oathTOTPTimeStepWindow' DESC 'OATH-LDAP: Size of time \
    step +/- tolerance window used for TOTP validation' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE SUP oathCounter )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.10.9 NAME 'oathTOTPTimeStepDrift' DESC 'OATH-LDAP: Last observed \
    time step shift seen for TOTP' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE SUP oathCounter )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.11 NAME 'oathSecretLength' DESC 'OATH-LDAP: Length of plain-text \
    shared secret (number of bytes)' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE EQUALITY integerMatch ORDERING \
    integerOrderingMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.12 NAME 'oathEncKey' DESC 'OATH-LDAP: public key to be used for \
    encrypting new shared secrets' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE EQUALITY caseIgnoreMatch SUBSTR \
    caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.13 NAME 'oathResultCode' DESC 'OATH-LDAP: LDAP resultCode to use \
    in response' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE EQUALITY integerMatch ORDERING integerOrderingMatch SYNTAX \
    1.3.6.1.4.1.1466.115.121.1.27 )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.13.1 NAME 'oathSuccessResultCode' DESC 'OATH-LDAP: success \
    resultCode to use in bind/compare response' X-ORIGIN 'OATH-LDAP' SUP oathResultCode )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.13.2 NAME 'oathFailureResultCode' DESC 'OATH-LDAP: failure \
    resultCode to use in bind/compare response' X-ORIGIN 'OATH-LDAP' SUP oathResultCode )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.14 NAME 'oathTokenPIN' DESC 'OATH-LDAP: Configuration PIN \
    (possibly encrypted with oathEncKey)' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE EQUALITY caseIgnoreMatch SUBSTR \
    caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.15 NAME 'oathMessage' DESC 'OATH-LDAP: success diagnosticMessage \
    to use in bind/compare response' X-ORIGIN 'OATH-LDAP' SINGLE-VALUE EQUALITY caseIgnoreMatch SUBSTR \
    caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15{1024} )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.15.1 NAME 'oathSuccessMessage' DESC 'OATH-LDAP: success \
    diagnosticMessage to use in bind/compare response' X-ORIGIN 'OATH-LDAP' SUP oathMessage )\n\
    attributetype ( 1.3.6.1.4.1.5427.1.389.4226.4.15.2 NAME 'oathFailureMessage' DESC 'OATH-LDAP: failure \
    diagnosticMessage to use in bind/compare response' X-ORIGIN 'OATH-LDAP' SUP oathMessage )\n\
    objectclass ( 1.3.6.1.4.1.5427.1.389.4226.6.1 NAME 'oathUser' DESC 'OATH-LDAP: User Object' X-ORIGIN 'OATH-LDAP' \
    ABSTRACT )\n\
    objectclass ( 1.3.6.1.4.1.5427.1.389.4226.6.1.1 NAME 'oathHOTPUser' DESC 'OATH-LDAP: HOTP user object' X-ORIGIN \
    'OATH-LDAP' AUXILIARY SUP oathUser MAY ( oathHOTPToken ) )\n\
    objectclass ( 1.3.6.1.4.1.5427.1.389.4226.6.1.2 NAME 'oathTOTPUser' DESC 'OATH-LDAP: TOTP user object' X-ORIGIN \
    'OATH-LDAP' AUXILIARY SUP oathUser MUST ( oathTOTPToken ) )\n\
    objectclass ( 1.3.6.1.4.1.5427.1.389.4226.6.2 NAME 'oathParams' DESC 'OATH-LDAP: Parameter object' X-ORIGIN \
    'OATH-LDAP' ABSTRACT MUST ( oathOTPLength $ oathHMACAlgorithm ) MAY ( oathSecretMaxAge $ oathSecretLength $ \
    oathMaxUsageCount $ oathThrottleLimit $ oathEncKey $ oathSuccessResultCode $ oathSuccessMessage $ \
    oathFailureResultCode $ oathFailureMessage ) )\n\
    objectclass ( 1.3.6.1.4.1.5427.1.389.4226.6.2.1 NAME 'oathHOTPParams' DESC 'OATH-LDAP: HOTP parameter object' \
    X-ORIGIN 'OATH-LDAP' AUXILIARY SUP oathParams MUST ( oathHOTPLookAhead ) )\n\
    objectclass ( 1.3.6.1.4.1.5427.1.389.4226.6.2.2 NAME 'oathTOTPParams' DESC 'OATH-LDAP: TOTP parameter object' \
    X-ORIGIN 'OATH-LDAP' AUXILIARY SUP oathParams MUST ( oathTOTPTimeStepPeriod ) MAY ( oathTOTPTimeStepWindow ) )\n\
    objectclass ( 1.3.6.1.4.1.5427.1.389.4226.6.3 NAME 'oathToken' DESC 'OATH-LDAP: User Object' X-ORIGIN \
    'OATH-LDAP' ABSTRACT MAY ( oathSecret $ oathSecretTime $ oathLastLogin $ oathFailureCount $ oathLastFailure $ \
    oathTokenSerialNumber $ oathTokenIdentifier $ oathTokenPIN ) )\n\
    objectclass ( 1.3.6.1.4.1.5427.1.389.4226.6.3.1 NAME 'oathHOTPToken' DESC 'OATH-LDAP: HOTP token object' \
    X-ORIGIN 'OATH-LDAP' AUXILIARY SUP oathToken MAY ( oathHOTPParams $ oathHOTPCounter ) )\n\
    objectclass ( 1.3.6.1.4.1.5427.1.389.4226.6.3.2 NAME 'oathTOTPToken' DESC 'OATH-LDAP: TOTP token' X-ORIGIN \
    'OATH-LDAP' AUXILIARY SUP oathToken MAY ( oathTOTPParams $ oathTOTPLastTimeStep $ oathTOTPTimeStepDrift ) )\n";
