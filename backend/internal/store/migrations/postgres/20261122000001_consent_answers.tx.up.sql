-- What was answered to a request for consent, so that the same answer given twice,
-- by a double click, leads to the same place. No code: access was denied.
CREATE TABLE consent_answers (
    request_hash TEXT COLLATE "C" PRIMARY KEY REFERENCES authorization_requests (hash) ON DELETE CASCADE,
    code_hash    TEXT COLLATE "C"
);
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON consent_answers TO kith_service;
