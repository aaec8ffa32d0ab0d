-- What people sign in with, and what they grant to clients. Only kith_service
-- reaches these tables.
CREATE TABLE clients (
    id            TEXT COLLATE "C" PRIMARY KEY,
    name          TEXT NOT NULL,
    redirect_uris TEXT NOT NULL,
    client_uri    TEXT NOT NULL DEFAULT '',
    created_at    TIMESTAMPTZ NOT NULL,
    last_used_at  TIMESTAMPTZ
);
--bun:split
CREATE INDEX clients_last_used ON clients (last_used_at, created_at);
--bun:split
CREATE TABLE login_sessions (
    hash       TEXT COLLATE "C" PRIMARY KEY,
    member_id  TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL
);
--bun:split
CREATE INDEX login_sessions_member ON login_sessions (member_id);
--bun:split
-- An authorization request that waits for its member's consent, in the login
-- session that was shown it.
CREATE TABLE authorization_requests (
    hash           TEXT COLLATE "C" PRIMARY KEY,
    session_hash   TEXT COLLATE "C" NOT NULL REFERENCES login_sessions (hash) ON DELETE CASCADE,
    client_id      TEXT COLLATE "C" NOT NULL REFERENCES clients (id) ON DELETE CASCADE,
    redirect_uri   TEXT NOT NULL,
    scopes         TEXT NOT NULL,
    resource       TEXT NOT NULL,
    state          TEXT NOT NULL,
    code_challenge TEXT NOT NULL,
    created_at     TIMESTAMPTZ NOT NULL,
    expires_at     TIMESTAMPTZ NOT NULL
);
--bun:split
CREATE INDEX authorization_requests_session ON authorization_requests (session_hash);
--bun:split
CREATE TABLE grants (
    id           TEXT COLLATE "C" PRIMARY KEY,
    member_id    TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    client_id    TEXT COLLATE "C" NOT NULL REFERENCES clients (id),
    scopes       TEXT NOT NULL,
    resource     TEXT NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    last_used_at TIMESTAMPTZ,
    revoked_at   TIMESTAMPTZ
);
--bun:split
CREATE INDEX grants_member ON grants (member_id);
--bun:split
CREATE INDEX grants_client ON grants (client_id);
--bun:split
CREATE TABLE authorization_codes (
    hash           TEXT COLLATE "C" PRIMARY KEY,
    member_id      TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    client_id      TEXT COLLATE "C" NOT NULL REFERENCES clients (id) ON DELETE CASCADE,
    redirect_uri   TEXT NOT NULL,
    scopes         TEXT NOT NULL,
    resource       TEXT NOT NULL,
    code_challenge TEXT NOT NULL,
    created_at     TIMESTAMPTZ NOT NULL,
    expires_at     TIMESTAMPTZ NOT NULL,
    used_at        TIMESTAMPTZ,
    grant_id       TEXT COLLATE "C" REFERENCES grants (id) ON DELETE SET NULL
);
--bun:split
CREATE INDEX authorization_codes_expires ON authorization_codes (expires_at);
--bun:split
-- The newest access token of each grant; a rotation puts another in its place.
CREATE TABLE access_tokens (
    grant_id   TEXT COLLATE "C" PRIMARY KEY REFERENCES grants (id) ON DELETE CASCADE,
    hash       TEXT COLLATE "C" NOT NULL UNIQUE,
    scopes     TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL
);
--bun:split
-- Spent refresh tokens stay, so that a replay is recognised.
CREATE TABLE refresh_tokens (
    hash       TEXT COLLATE "C" PRIMARY KEY,
    grant_id   TEXT COLLATE "C" NOT NULL REFERENCES grants (id) ON DELETE CASCADE,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    spent_at   TIMESTAMPTZ
);
--bun:split
CREATE INDEX refresh_tokens_grant ON refresh_tokens (grant_id);
--bun:split
-- Single-use links sent by mail: e-mail verification and password reset.
CREATE TABLE mail_links (
    hash       TEXT COLLATE "C" PRIMARY KEY,
    member_id  TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    purpose    TEXT NOT NULL,
    email      TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL
);
--bun:split
CREATE INDEX mail_links_member ON mail_links (member_id);
--bun:split
-- Who wants to become a member and has not proved their address yet.
CREATE TABLE sign_ups (
    hash          TEXT COLLATE "C" PRIMARY KEY,
    username      TEXT NOT NULL,
    email         TEXT COLLATE "C" NOT NULL,
    password_hash TEXT NOT NULL,
    return_to     TEXT NOT NULL,
    created_at    TIMESTAMPTZ NOT NULL,
    expires_at    TIMESTAMPTZ NOT NULL
);
--bun:split
CREATE INDEX sign_ups_email ON sign_ups (email);
--bun:split
-- Who a member is at an identity provider: one identity of each issuer, and
-- one member for each identity.
CREATE TABLE linked_identities (
    issuer       TEXT COLLATE "C" NOT NULL,
    subject      TEXT COLLATE "C" NOT NULL,
    member_id    TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    created_at   TIMESTAMPTZ NOT NULL,
    last_used_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (issuer, subject),
    UNIQUE (member_id, issuer)
);
--bun:split
-- Sign-ins that wait for the answer of an identity provider, or, with a subject,
-- for the password of the member who is to be linked.
CREATE TABLE provider_attempts (
    hash         TEXT COLLATE "C" PRIMARY KEY,
    browser_hash TEXT COLLATE "C" NOT NULL,
    issuer       TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    nonce        TEXT NOT NULL,
    verifier     TEXT NOT NULL,
    subject      TEXT NOT NULL,
    email        TEXT COLLATE "C" NOT NULL,
    return_to    TEXT NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ NOT NULL
);
--bun:split
-- Counts of password attempts in fixed windows, by account and by address.
CREATE TABLE login_attempts (
    subject    TEXT COLLATE "C" PRIMARY KEY,
    count      INTEGER NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL
);
--bun:split
ALTER TABLE members ADD COLUMN email_verified_at TIMESTAMPTZ;
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON clients, login_sessions, authorization_requests, grants, authorization_codes,
    access_tokens, refresh_tokens, mail_links, sign_ups, linked_identities, provider_attempts, login_attempts TO kith_service;
