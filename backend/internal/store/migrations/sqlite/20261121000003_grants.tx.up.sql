-- What people sign in with, and what they grant to clients.
CREATE TABLE clients (
    id            TEXT PRIMARY KEY,
    name          TEXT NOT NULL,
    redirect_uris TEXT NOT NULL,
    client_uri    TEXT NOT NULL DEFAULT '',
    created_at    TIMESTAMP NOT NULL,
    last_used_at  TIMESTAMP
);
--bun:split
CREATE INDEX clients_last_used ON clients (last_used_at, created_at);
--bun:split
CREATE TABLE login_sessions (
    hash       TEXT PRIMARY KEY,
    member_id  TEXT NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL
);
--bun:split
CREATE INDEX login_sessions_member ON login_sessions (member_id);
--bun:split
-- An authorization request that waits for its member's consent, in the login
-- session that was shown it.
CREATE TABLE authorization_requests (
    hash           TEXT PRIMARY KEY,
    session_hash   TEXT NOT NULL REFERENCES login_sessions (hash) ON DELETE CASCADE,
    client_id      TEXT NOT NULL REFERENCES clients (id) ON DELETE CASCADE,
    redirect_uri   TEXT NOT NULL,
    scopes         TEXT NOT NULL,
    resource       TEXT NOT NULL,
    state          TEXT NOT NULL,
    code_challenge TEXT NOT NULL,
    created_at     TIMESTAMP NOT NULL,
    expires_at     TIMESTAMP NOT NULL
);
--bun:split
CREATE INDEX authorization_requests_session ON authorization_requests (session_hash);
--bun:split
CREATE TABLE grants (
    id           TEXT PRIMARY KEY,
    member_id    TEXT NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    client_id    TEXT NOT NULL REFERENCES clients (id),
    scopes       TEXT NOT NULL,
    resource     TEXT NOT NULL,
    created_at   TIMESTAMP NOT NULL,
    last_used_at TIMESTAMP,
    revoked_at   TIMESTAMP
);
--bun:split
CREATE INDEX grants_member ON grants (member_id);
--bun:split
CREATE INDEX grants_client ON grants (client_id);
--bun:split
CREATE TABLE authorization_codes (
    hash           TEXT PRIMARY KEY,
    member_id      TEXT NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    client_id      TEXT NOT NULL REFERENCES clients (id) ON DELETE CASCADE,
    redirect_uri   TEXT NOT NULL,
    scopes         TEXT NOT NULL,
    resource       TEXT NOT NULL,
    code_challenge TEXT NOT NULL,
    created_at     TIMESTAMP NOT NULL,
    expires_at     TIMESTAMP NOT NULL,
    used_at        TIMESTAMP,
    grant_id       TEXT REFERENCES grants (id) ON DELETE SET NULL
);
--bun:split
CREATE INDEX authorization_codes_expires ON authorization_codes (expires_at);
--bun:split
-- The newest access token of each grant; a rotation puts another in its place.
CREATE TABLE access_tokens (
    grant_id   TEXT PRIMARY KEY REFERENCES grants (id) ON DELETE CASCADE,
    hash       TEXT NOT NULL UNIQUE,
    scopes     TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL
);
--bun:split
-- Spent refresh tokens stay, so that a replay is recognised.
CREATE TABLE refresh_tokens (
    hash       TEXT PRIMARY KEY,
    grant_id   TEXT NOT NULL REFERENCES grants (id) ON DELETE CASCADE,
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL,
    spent_at   TIMESTAMP
);
--bun:split
CREATE INDEX refresh_tokens_grant ON refresh_tokens (grant_id);
--bun:split
-- Single-use links sent by mail: e-mail verification and password reset.
CREATE TABLE mail_links (
    hash       TEXT PRIMARY KEY,
    member_id  TEXT NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    purpose    TEXT NOT NULL,
    email      TEXT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    expires_at TIMESTAMP NOT NULL
);
--bun:split
CREATE INDEX mail_links_member ON mail_links (member_id);
--bun:split
-- Who wants to become a member and has not proved their address yet.
CREATE TABLE sign_ups (
    hash          TEXT PRIMARY KEY,
    username      TEXT NOT NULL,
    email         TEXT NOT NULL,
    password_hash TEXT NOT NULL,
    return_to     TEXT NOT NULL,
    created_at    TIMESTAMP NOT NULL,
    expires_at    TIMESTAMP NOT NULL
);
--bun:split
CREATE INDEX sign_ups_email ON sign_ups (email);
--bun:split
-- Who a member is at an identity provider: one identity of each issuer, and
-- one member for each identity.
CREATE TABLE linked_identities (
    issuer       TEXT NOT NULL,
    subject      TEXT NOT NULL,
    member_id    TEXT NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    created_at   TIMESTAMP NOT NULL,
    last_used_at TIMESTAMP NOT NULL,
    PRIMARY KEY (issuer, subject),
    UNIQUE (member_id, issuer)
);
--bun:split
-- Sign-ins that wait for the answer of an identity provider, or, with a subject,
-- for the password of the member who is to be linked.
CREATE TABLE provider_attempts (
    hash         TEXT PRIMARY KEY,
    browser_hash TEXT NOT NULL,
    issuer       TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    nonce        TEXT NOT NULL,
    verifier     TEXT NOT NULL,
    subject      TEXT NOT NULL,
    email        TEXT NOT NULL,
    return_to    TEXT NOT NULL,
    created_at   TIMESTAMP NOT NULL,
    expires_at   TIMESTAMP NOT NULL
);
--bun:split
-- Counts of password attempts in fixed windows, by account and by address.
CREATE TABLE login_attempts (
    subject    TEXT PRIMARY KEY,
    count      INTEGER NOT NULL,
    expires_at TIMESTAMP NOT NULL
);
--bun:split
ALTER TABLE members ADD COLUMN email_verified_at TIMESTAMP;
