-- The schema of PostgreSQL. That of SQLite has the same tables, columns and indexes; a
-- test compares them.
--
-- Conventions
--   Ids are strings with a prefix that names the kind: con_ for a connection.
--   tenant_id is the id of the member whom a row belongs to. References between such
--   rows contain it, so that no row can point to another member's.
--   Timestamps are in UTC with microseconds. Days are YYYY-MM-DD; a partial date may
--   leave out the day, or the month and the day. Lists and objects are JSON.
--   Where a column has no value, text is empty and numbers are 0, unless it may be
--   NULL.
--   folded_ and normal_ columns hold the form of a text that comparisons use.
--   version grows by one with each change of a row (optimistic locking).
--   Columns of keys and indexes have COLLATE "C": they are compared byte by byte, as in
--   SQLite and whatever the locale of the database is.


-- Roles -------------------------------------------------------------------------------
--
-- Two roles keep one member's data from another (row-level security): kith_tenant sees
-- the rows of the tenant that the setting app.tenant_id names, and none without it.
-- kith_service works across tenants: authentication, public profiles, sweeps, the demo
-- account. Neither role can log in; a connection sets its role with SET ROLE.
-- A user who may not create roles needs both created and granted beforehand.
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'kith_tenant') THEN CREATE ROLE kith_tenant NOLOGIN; END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; -- another database's migration created it
END $$;
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'kith_service') THEN CREATE ROLE kith_service NOLOGIN; END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; -- another database's migration created it
END $$;
DO $$ BEGIN
    IF NOT pg_has_role(current_user, 'kith_tenant', 'MEMBER') THEN GRANT kith_tenant TO CURRENT_USER; END IF;
    IF NOT pg_has_role(current_user, 'kith_service', 'MEMBER') THEN GRANT kith_service TO CURRENT_USER; END IF;
END $$;


-- Accounts ----------------------------------------------------------------------------

-- A person with an account.
CREATE TABLE members (
    id                TEXT COLLATE "C" PRIMARY KEY,
    username          TEXT COLLATE "C" NOT NULL UNIQUE,
    email             TEXT COLLATE "C" NOT NULL UNIQUE,
    email_verified_at TIMESTAMPTZ,               -- NULL until the member proved that they read the address
    password_hash     TEXT NOT NULL DEFAULT '',
    timezone          TEXT NOT NULL DEFAULT 'UTC',
    locale            TEXT NOT NULL DEFAULT 'en',
    plan              TEXT NOT NULL,             -- decides the monthly credits
    monthly_credits   INTEGER,                   -- instead of those of the plan
    embeddings_host   TEXT NOT NULL DEFAULT '',  -- the remote embedding provider that the member allows
    suspended_at      TIMESTAMPTZ,
    access_epoch      BIGINT NOT NULL DEFAULT 0, -- grows by one whenever access is revoked; see account.Access
    steps_hidden_at   TIMESTAMPTZ,               -- when the member hid the first steps on Today
    created_at        TIMESTAMPTZ NOT NULL,
    updated_at        TIMESTAMPTZ NOT NULL
);

-- The counters and flags of a member's data: one row per member.
CREATE TABLE tenant_states (
    tenant_id        TEXT COLLATE "C" PRIMARY KEY REFERENCES members (id) ON DELETE CASCADE,
    data_version     BIGINT NOT NULL DEFAULT 0,      -- grows by one with each write transaction
    removed_version  BIGINT NOT NULL DEFAULT 0,      -- search indexes of an older data_version must be rebuilt
    embedded_version BIGINT NOT NULL DEFAULT 0,      -- data_version at which the last vector was stored
    jobs             INTEGER NOT NULL DEFAULT 0,     -- the number of the last job
    notes            INTEGER NOT NULL DEFAULT 0,     -- how many notes and interactions there are: triggers count them
    interactions     INTEGER NOT NULL DEFAULT 0,
    kept_bytes       BIGINT NOT NULL DEFAULT 0,      -- of photos, files, proposals and recorded changes, against the quota: triggers count them
    quota_bytes      BIGINT,                         -- instead of KITH_MEMBER_STORAGE; 0 for no limit
    read_only        BOOLEAN NOT NULL DEFAULT FALSE  -- true for the demo account: triggers refuse every write
);

-- The profile page of a member: one row per member.
CREATE TABLE profiles (
    member_id        TEXT COLLATE "C" PRIMARY KEY REFERENCES members (id) ON DELETE CASCADE,
    username         TEXT COLLATE "C" NOT NULL,             -- the member's, which never changes
    name             TEXT NOT NULL DEFAULT '',
    headline         TEXT NOT NULL DEFAULT '',
    bio              TEXT NOT NULL DEFAULT '',
    location_text    TEXT NOT NULL DEFAULT '',
    country          TEXT NOT NULL DEFAULT '',
    organization     TEXT NOT NULL DEFAULT '',
    title            TEXT NOT NULL DEFAULT '',
    skills           TEXT,
    languages        TEXT,
    links            TEXT,
    open_to          TEXT,
    avatar_url       TEXT NOT NULL DEFAULT '',
    visibility       TEXT NOT NULL DEFAULT 'private',       -- of the whole page: public, members or private
    field_visibility TEXT,                                  -- of single fields; a field that is missing is private
    listed           BOOLEAN NOT NULL DEFAULT FALSE,        -- in the member directory
    search_text      TEXT COLLATE "C" NOT NULL DEFAULT '',  -- folded words that everybody may search for
    member_text      TEXT COLLATE "C" NOT NULL DEFAULT '',  -- folded words that members may search for
    sort_name        TEXT COLLATE "C" NOT NULL DEFAULT '',  -- folded name that orders the directory
    updated_at       TIMESTAMPTZ NOT NULL
);
-- The public directory, by name. coalesce does not change the result. With it, PostgreSQL
-- without statistics expects half of all rows; otherwise so few that it would sort them.
CREATE INDEX profiles_directory ON profiles (sort_name, username) WHERE coalesce(listed AND visibility = 'public', FALSE);
-- The directory that members see, by name.
CREATE INDEX profiles_listed ON profiles (sort_name, username) WHERE coalesce(listed AND visibility IN ('public', 'members'), FALSE);

-- The runs of three characters in a text. Unlike the extension pg_trgm, it needs no
-- privilege, and knows the letters of every language whatever the locale of the database.
CREATE FUNCTION kith_trigrams(t text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 1000
AS 'SELECT ARRAY(SELECT substr(t, i, 3) FROM generate_series(1, length(t) - 2) AS i)';
-- Which listed profiles contain three characters in a row: in the words that everybody may
-- search for, or that members may. They are no partial indexes: with the condition in a
-- statement, PostgreSQL could read the directory by name instead. fastupdate is off, so
-- that a search need not read a list of pending changes.
CREATE INDEX profiles_public_words ON profiles
    USING gin (kith_trigrams(CASE WHEN listed AND visibility = 'public' THEN search_text || ' ' || username END)) WITH (fastupdate = off);
CREATE INDEX profiles_member_words ON profiles
    USING gin (kith_trigrams(CASE WHEN listed AND visibility IN ('public', 'members') THEN member_text || ' ' || username END)) WITH (fastupdate = off);

-- A token that a member made for an agent, an app password for a device, or the secret address of a calendar feed.
CREATE TABLE personal_tokens (
    id           TEXT COLLATE "C" PRIMARY KEY,
    member_id    TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    hash         TEXT COLLATE "C" NOT NULL UNIQUE,
    scopes       TEXT NOT NULL,             -- separated by single spaces
    tools        TEXT NOT NULL DEFAULT '',  -- the only tools that it may call, separated by single spaces; empty for all
    asks         TEXT NOT NULL DEFAULT '',  -- before which acts it asks the member first: delete, merge, import and bulk=10, separated by single spaces
    kind         TEXT NOT NULL DEFAULT '',  -- device: an app password, whose scopes are contacts or contacts write; feed: a calendar, whose scopes are its parts and the id of a group; empty for a token
    created_at   TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ,
    last_used_at TIMESTAMPTZ,
    revoked_at   TIMESTAMPTZ
);
-- The tokens of a member.
CREATE INDEX personal_tokens_member ON personal_tokens (member_id);

-- A browser in which a member is signed in.
CREATE TABLE login_sessions (
    hash             TEXT COLLATE "C" PRIMARY KEY,      -- of the cookie; another when the secret is rotated
    id               TEXT COLLATE "C" NOT NULL UNIQUE,  -- its name on pages
    member_id        TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    device           TEXT NOT NULL,                     -- browser and system in words, such as Firefox on Linux
    address          TEXT NOT NULL,                     -- where it began: the /24 of an IPv4 address, the /48 of an IPv6 one; empty if unknown
    created_at       TIMESTAMPTZ NOT NULL,
    authenticated_at TIMESTAMPTZ NOT NULL,              -- when the member last proved who they are, with everything that the account asks for
    last_used_at     TIMESTAMPTZ NOT NULL,              -- a few minutes late
    expires_at       TIMESTAMPTZ NOT NULL,
    seen_event       BIGINT NOT NULL DEFAULT 0          -- the last security event whose notice was dismissed in this browser
);
-- The sessions of a member.
CREATE INDEX login_sessions_member ON login_sessions (member_id);

-- A single-use link that was sent by mail: e-mail verification, password reset or change of the address.
CREATE TABLE mail_links (
    hash       TEXT COLLATE "C" PRIMARY KEY,  -- of the secret in the link
    member_id  TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    purpose    TEXT NOT NULL,                 -- verify, reset or change
    email      TEXT NOT NULL,                 -- the link works while this is the member's address
    new_email  TEXT NOT NULL,                 -- the address that the member changes to; empty for the other purposes
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL
);
-- Deletes the links of a member.
CREATE INDEX mail_links_member ON mail_links (member_id);

-- A single-use link in an email about the account, for a member who says "this was not me". It
-- outlives a change of the password and of the address.
CREATE TABLE not_me_links (
    hash       TEXT COLLATE "C" PRIMARY KEY,  -- of the secret in the link
    member_id  TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    email      TEXT NOT NULL,                 -- where it was sent
    changed_at TIMESTAMPTZ,  -- when the address was replaced, if the email told that: the link may restore it; else NULL
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    restores_at TIMESTAMPTZ,    -- from when on it may restore the address: it was used once, and the restoration waits; else NULL
    objection_hash TEXT COLLATE "C" UNIQUE, -- of the secret with which the present address objects; else NULL
    objected_at TIMESTAMPTZ     -- when that was used: an operator has to decide; else NULL
);
-- The links of a member.
CREATE INDEX not_me_links_member ON not_me_links (member_id);

-- The addresses that a member had before, each until it was replaced the last time.
CREATE TABLE member_addresses (
    member_id TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    email     TEXT COLLATE "C" NOT NULL,
    ended_at  TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (member_id, email)
);

-- A person who wants to become a member and has not proved their address yet.
CREATE TABLE sign_ups (
    hash       TEXT COLLATE "C" PRIMARY KEY,  -- of the secret in the link that was sent to them
    username   TEXT NOT NULL,
    email      TEXT COLLATE "C" NOT NULL,
    return_to  TEXT NOT NULL,                 -- the path of this service that they came from; empty for none
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL
);
-- Deletes the other sign-ups of an address.
CREATE INDEX sign_ups_email ON sign_ups (email);

-- The links that create the first member.
CREATE TABLE owner_links (
    hash       TEXT COLLATE "C" PRIMARY KEY,  -- of the secret in the link that was printed
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL
);

-- How often a password was tried in the present window, by account and by address.
CREATE TABLE login_attempts (
    subject    TEXT COLLATE "C" PRIMARY KEY,
    count      INTEGER NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL  -- end of the window
);

-- The secret that a member shares with their app for one-time codes.
CREATE TABLE totp_secrets (
    member_id    TEXT COLLATE "C" PRIMARY KEY REFERENCES members (id) ON DELETE CASCADE,
    secret       TEXT NOT NULL,    -- encrypted with a key that is not in the database
    last_step    BIGINT NOT NULL,  -- of the last code that was used: each works once
    created_at   TIMESTAMPTZ NOT NULL,
    last_used_at TIMESTAMPTZ NOT NULL
);

-- A passkey of a member (WebAuthn).
CREATE TABLE passkeys (
    id              TEXT COLLATE "C" PRIMARY KEY,
    member_id       TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    credential_id   TEXT COLLATE "C" NOT NULL UNIQUE,  -- base64url; the authenticator's name for it
    public_key      BYTEA NOT NULL,         -- COSE
    transports      TEXT NOT NULL,         -- how browsers reach the authenticator, separated by commas; empty if unknown
    backup_eligible BOOLEAN NOT NULL,      -- whether it may be copied to other devices of the member
    sign_count      BIGINT NOT NULL,       -- of the last use; 0 if the authenticator does not count
    name            TEXT NOT NULL,
    created_at      TIMESTAMPTZ NOT NULL,
    last_used_at    TIMESTAMPTZ NOT NULL
);
-- The passkeys of a member.
CREATE INDEX passkeys_member ON passkeys (member_id);

-- A challenge that one browser may answer with a passkey, once.
CREATE TABLE passkey_challenges (
    hash       TEXT COLLATE "C" PRIMARY KEY,  -- of the challenge, what it is for, and the browser's cookie or session
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL
);

-- A code that replaces the second factor, once.
CREATE TABLE recovery_codes (
    hash       TEXT COLLATE "C" PRIMARY KEY,  -- of the member and the code
    member_id  TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    created_at TIMESTAMPTZ NOT NULL
);
-- The codes of a member.
CREATE INDEX recovery_codes_member ON recovery_codes (member_id);

-- A program that asked to be a device of a member, by the login flow of Nextcloud. It has no member until one allows it in a browser. The
-- row ends when the program gets the app password, which is made then.
CREATE TABLE device_logins (
    hash       TEXT COLLATE "C" PRIMARY KEY,  -- of the secret with which the program asks for its app password
    page_hash  TEXT COLLATE "C" NOT NULL UNIQUE,  -- of the secret in the address that the program opens in a browser
    program    TEXT NOT NULL,     -- what the program calls itself
    network    TEXT COLLATE "C" NOT NULL,     -- where it asked from: the /24 of an IPv4 address, the /48 of an IPv6 one; empty if unknown
    device_id  TEXT COLLATE "C" UNIQUE REFERENCES personal_tokens (id) ON DELETE CASCADE,  -- NULL until a member allowed it
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL
);
-- Counts the requests of a network.
CREATE INDEX device_logins_network ON device_logins (network);

-- A sign-in that waits for the second factor, in one browser. It gives no access.
CREATE TABLE sign_in_steps (
    hash         TEXT COLLATE "C" PRIMARY KEY,  -- of the cookie
    member_id    TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    attempt_hash TEXT NOT NULL,                 -- of the provider_attempts row to link afterwards; empty for none
    return_to    TEXT NOT NULL,                 -- the path of this service to go to; empty for none
    access_epoch BIGINT NOT NULL DEFAULT 0,      -- members.access_epoch when the password was checked
    created_at   TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ NOT NULL
);
-- Deletes the waiting sign-ins of a member.
CREATE INDEX sign_in_steps_member ON sign_in_steps (member_id);

-- What operators and members may need to look up: sign-ins, and access that was
-- given or ended. Deleted after a year.
CREATE TABLE security_events (
    id         BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    tenant_id  TEXT COLLATE "C" REFERENCES members (id) ON DELETE CASCADE,  -- NULL if unknown, and for the deletion of an account
    at         TIMESTAMPTZ NOT NULL,
    kind       TEXT NOT NULL,
    subject    TEXT COLLATE "C" NOT NULL,                                   -- a hash of the member, or of the name that was typed if there is no such member
    address    TEXT NOT NULL,                                               -- the /24 of an IPv4 address or the /48 of an IPv6 one; empty for an operator's command
    device     TEXT NOT NULL,                                               -- browser and system in words; empty if there was none
    session_id TEXT COLLATE "C" NOT NULL,                                   -- the login session in which it happened; empty for none
    object_id  TEXT NOT NULL,                                               -- the credential, client or deletion; empty for none or several
    times      INTEGER NOT NULL,                                            -- how often it happened from at to last_at: failures of an hour from one network are one row
    last_at    TIMESTAMPTZ NOT NULL
);
-- The last events of a member.
CREATE INDEX security_events_tenant ON security_events (tenant_id, id);
-- Finds the row that counts earlier failures of the same kind.
CREATE INDEX security_events_subject ON security_events (subject, at);
-- Deletes old events.
CREATE INDEX security_events_at ON security_events (at);
-- Events are never changed, only counted.
CREATE FUNCTION kith_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'kith: a security event is never changed';
END;
$$;
CREATE TRIGGER security_events_kept BEFORE UPDATE OF id, tenant_id, at, kind, subject, address, device, session_id, object_id ON security_events
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_change();


-- Sign-in with an external identity provider -------------------------------------

-- A member's identity at a provider: at most one for each issuer.
CREATE TABLE linked_identities (
    issuer       TEXT COLLATE "C" NOT NULL,
    subject      TEXT COLLATE "C" NOT NULL,
    member_id    TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    created_at   TIMESTAMPTZ NOT NULL,
    last_used_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (issuer, subject),
    UNIQUE (member_id, issuer)
);

-- A sign-in in progress. Without a subject it waits for the provider's answer; with
-- one it waits for the password of the member to link.
CREATE TABLE provider_attempts (
    hash         TEXT COLLATE "C" PRIMARY KEY,  -- of the state parameter, or of the secret in the password form
    browser_hash TEXT COLLATE "C" NOT NULL,     -- of a cookie: only this browser can go on
    issuer       TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,                 -- this, nonce and verifier are empty once the provider has answered
    nonce        TEXT NOT NULL,
    verifier     TEXT NOT NULL,                 -- the PKCE code verifier
    subject      TEXT NOT NULL,
    email        TEXT COLLATE "C" NOT NULL,
    return_to    TEXT NOT NULL,                 -- the path of this service to go to; empty for none
    created_at   TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ NOT NULL
);


-- OAuth: delegated access -------------------------------------------------------------

-- An OAuth client: registered (RFC 7591), or known by its client ID metadata document,
-- whose URL is its id. All clients are public ones.
CREATE TABLE clients (
    id               TEXT COLLATE "C" PRIMARY KEY,
    name             TEXT NOT NULL,
    redirect_uris    TEXT NOT NULL,
    client_uri       TEXT NOT NULL DEFAULT '',
    grant_types      TEXT NOT NULL DEFAULT '["authorization_code","refresh_token"]',  -- as registered
    scope            TEXT NOT NULL DEFAULT '',                                        -- as registered
    application_type TEXT NOT NULL DEFAULT '',                                     -- web, native or empty
    created_at       TIMESTAMPTZ NOT NULL,
    last_used_at     TIMESTAMPTZ                                                      -- NULL until a member allowed it something
);
-- Deletes clients that were never used.
CREATE INDEX clients_last_used ON clients (last_used_at, created_at);

-- An authorization request that waits for the member's consent, in the login session
-- in which it was shown.
CREATE TABLE authorization_requests (
    hash           TEXT COLLATE "C" PRIMARY KEY,
    session_hash   TEXT COLLATE "C" NOT NULL REFERENCES login_sessions (hash) ON DELETE CASCADE,
    client_id      TEXT COLLATE "C" NOT NULL REFERENCES clients (id) ON DELETE CASCADE,
    redirect_uri   TEXT NOT NULL,
    scopes         TEXT NOT NULL,
    resource       TEXT NOT NULL,
    state          TEXT NOT NULL,
    code_challenge TEXT NOT NULL,  -- PKCE, S256
    created_at     TIMESTAMPTZ NOT NULL,
    expires_at     TIMESTAMPTZ NOT NULL
);
-- The newest requests of a session, and the end of a session.
CREATE INDEX authorization_requests_session ON authorization_requests (session_hash);

-- The answer to a request, so that the same answer given twice, by a double click,
-- leads to the same page.
CREATE TABLE consent_answers (
    request_hash TEXT COLLATE "C" PRIMARY KEY REFERENCES authorization_requests (hash) ON DELETE CASCADE,
    code_hash    TEXT COLLATE "C"  -- NULL if access was denied
);

-- What a member allows a client, until it ends or is revoked. All tokens come from a
-- grant.
CREATE TABLE grants (
    id           TEXT COLLATE "C" PRIMARY KEY,
    member_id    TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    client_id    TEXT COLLATE "C" NOT NULL REFERENCES clients (id),
    scopes       TEXT NOT NULL,  -- separated by single spaces
    tools        TEXT NOT NULL,  -- that it is limited to, separated by single spaces; '' for no limit
    asks         TEXT NOT NULL DEFAULT '',  -- before which acts it asks the member first, as in personal_tokens; '' for none
    resource     TEXT NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ,  -- when the member's permission ends; NULL for never
    last_used_at TIMESTAMPTZ,
    paused_at    TIMESTAMPTZ,  -- while the member has paused it
    revoked_at   TIMESTAMPTZ
);
-- The grants of a member.
CREATE INDEX grants_member ON grants (member_id);
-- The grants of a client, to count or revoke them.
CREATE INDEX grants_client ON grants (client_id);

-- An authorization code. A used one stays until it expires, so that a replay revokes
-- its grant.
CREATE TABLE authorization_codes (
    hash           TEXT COLLATE "C" PRIMARY KEY,
    member_id      TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    client_id      TEXT COLLATE "C" NOT NULL REFERENCES clients (id) ON DELETE CASCADE,
    redirect_uri   TEXT NOT NULL,
    scopes         TEXT NOT NULL,
    tools          TEXT NOT NULL,     -- of the grant
    asks           TEXT NOT NULL DEFAULT '',  -- of the grant
    days           INTEGER NOT NULL,  -- how long the grant lasts; 0 for until it is revoked
    resource       TEXT NOT NULL,
    code_challenge TEXT NOT NULL,
    access_epoch   BIGINT NOT NULL DEFAULT 0,  -- members.access_epoch at the consent: the code ends with it
    created_at     TIMESTAMPTZ NOT NULL,
    expires_at     TIMESTAMPTZ NOT NULL,
    used_at        TIMESTAMPTZ,
    grant_id       TEXT COLLATE "C" REFERENCES grants (id) ON DELETE SET NULL  -- the grant that it was redeemed for
);
-- Deletes expired codes.
CREATE INDEX authorization_codes_expires ON authorization_codes (expires_at);

-- The current access token of each grant; a refresh replaces it.
CREATE TABLE access_tokens (
    grant_id   TEXT COLLATE "C" PRIMARY KEY REFERENCES grants (id) ON DELETE CASCADE,
    hash       TEXT COLLATE "C" NOT NULL UNIQUE,
    scopes     TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    answer     BYTEA  -- of the refresh, encrypted with a key from the spent refresh token; repeated for 60 seconds
);
-- Deletes answers that are not repeated any more.
CREATE INDEX access_tokens_answers ON access_tokens (created_at) WHERE answer IS NOT NULL;

-- Refresh tokens. A spent one stays until it expires, so that a replay revokes its
-- grant.
CREATE TABLE refresh_tokens (
    hash       TEXT COLLATE "C" PRIMARY KEY,
    grant_id   TEXT COLLATE "C" NOT NULL REFERENCES grants (id) ON DELETE CASCADE,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    spent_at   TIMESTAMPTZ
);
-- Whether a grant has a refresh token that works.
CREATE INDEX refresh_tokens_grant ON refresh_tokens (grant_id);


-- People ------------------------------------------------------------------------------

-- A person in a member's network.
CREATE TABLE connections (
    tenant_id           TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id                  TEXT COLLATE "C" NOT NULL,
    name                TEXT NOT NULL,
    folded_name         TEXT COLLATE "C" NOT NULL,
    nickname            TEXT NOT NULL,
    location            TEXT NOT NULL,
    bio                 TEXT NOT NULL,
    starred             BOOLEAN NOT NULL,
    met_on              TEXT NOT NULL,     -- a partial date
    met_how             TEXT NOT NULL,
    source              TEXT NOT NULL,     -- manual, agent, import or directory
    cadence_days        INTEGER NOT NULL,  -- the person's own keep-in-touch interval; 0 for none
    snoozed_until       TIMESTAMPTZ,
    last_interaction_at TIMESTAMPTZ,
    archived_at         TIMESTAMPTZ,
    merged_into         TEXT COLLATE "C",  -- the connection that took this one over
    photo               TEXT NOT NULL DEFAULT '',  -- the id of the photo; empty for none
    deceased_on         TEXT NOT NULL DEFAULT '',  -- a partial date; empty for a living person
    name_parts          TEXT,              -- the parts of the name, as JSON; NULL if none is known
    addresses           TEXT,              -- the postal addresses, as JSON; NULL for none
    kept                TEXT,              -- properties of cards that Kith does not understand, as JSON; NULL for none
    accounts            TEXT,              -- accounts with messengers and networks, as JSON; NULL for none
    fields              TEXT,              -- values of custom fields, as JSON; NULL for none
    related             TEXT,              -- people who are not on file, as JSON; NULL for none
    version             INTEGER NOT NULL,
    data_version        BIGINT NOT NULL,   -- tenant_states.data_version of the last write that a search could see
    created_at          TIMESTAMPTZ NOT NULL,
    updated_at          TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
-- People by their full name: imports, resolve_people and the check for duplicates.
CREATE INDEX connections_name ON connections (tenant_id, folded_name, id);
-- The order of an export.
CREATE INDEX connections_created_at ON connections (tenant_id, created_at, id);
-- What changed since the search index of a member was read.
CREATE INDEX connections_data_version ON connections (tenant_id, data_version);
-- The few people with an interval of their own, to list who is due.
CREATE INDEX connections_cadence ON connections (tenant_id, cadence_days) WHERE cadence_days > 0;
-- The few archived people of a member, whose reminders are not counted.
CREATE INDEX connections_archived_of ON connections (tenant_id, id) WHERE archived_at IS NOT NULL;
-- Who was merged into a person, before that person is deleted.
CREATE INDEX connections_merged ON connections (tenant_id, merged_into) WHERE merged_into IS NOT NULL;

-- People who were deleted recently, so that a search index drops them without a rebuild.
-- tenant_states.removed_version tells how far back this goes.
CREATE TABLE removed_connections (
    tenant_id     TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    data_version  BIGINT NOT NULL,  -- tenant_states.data_version of the deletion
    connection_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, data_version, connection_id)
);

-- The names and ids that address books of devices gave the cards of people and of groups (whose id is then connection_id); others have names
-- that are derived from their ids.
-- No row of connections has to exist, so that a device learns of a deletion, and finds a restored person again.
CREATE TABLE cards (
    tenant_id     TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    name          TEXT COLLATE "C" NOT NULL,  -- the last part of the address, such as 5d2c.vcf
    connection_id TEXT COLLATE "C" NOT NULL,
    uid           TEXT COLLATE "C" NOT NULL,  -- the card's UID; empty for the derived one
    PRIMARY KEY (tenant_id, name)
);
CREATE UNIQUE INDEX cards_connection ON cards (tenant_id, connection_id);
CREATE INDEX cards_uid ON cards (tenant_id, uid) WHERE uid <> '';

-- The cards that devices have: for each the one that the device last got or sent. A PUT is merged against it.
CREATE TABLE device_cards (
    tenant_id     TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    device_id     TEXT COLLATE "C" NOT NULL REFERENCES personal_tokens (id) ON DELETE CASCADE,
    connection_id TEXT COLLATE "C" NOT NULL,
    etag          TEXT COLLATE "C" NOT NULL,  -- of the card that it got; empty for one that it sent
    photo         TEXT COLLATE "C" NOT NULL,  -- the id of the photo; empty for none
    card          BYTEA NOT NULL,  -- the card without the photo, compressed (RFC 1951)
    PRIMARY KEY (tenant_id, connection_id, device_id),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);
-- What goes with a device.
CREATE INDEX device_cards_device ON device_cards (device_id);

-- The cards of groups that devices have, as device_cards of people. A group that is deleted and restored finds its row again.
CREATE TABLE device_groups (
    tenant_id TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    device_id TEXT COLLATE "C" NOT NULL REFERENCES personal_tokens (id) ON DELETE CASCADE,
    group_id  TEXT COLLATE "C" NOT NULL,
    etag      TEXT COLLATE "C" NOT NULL,  -- of the card that it got; empty for one that it sent
    card      BYTEA NOT NULL,  -- the card, compressed (RFC 1951)
    pending   TEXT COLLATE "C" NOT NULL,  -- the UIDs of its people whose cards the device did not send yet, a line each
    PRIMARY KEY (tenant_id, group_id, device_id)
);
-- What goes with a device.
CREATE INDEX device_groups_device ON device_groups (device_id);

-- Cards of devices that were not stored, or not wholly: what the device changed was changed in Kith too. The member decides. Deleted
-- 90 days after the decision.
CREATE TABLE proposals (
    tenant_id     TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id            TEXT COLLATE "C" NOT NULL,
    connection_id TEXT COLLATE "C" NOT NULL,  -- whose card it is; nobody has the id any more who was deleted. Empty for a new person
    device_id     TEXT COLLATE "C" NOT NULL,
    device_name   TEXT NOT NULL,
    fingerprint   TEXT COLLATE "C" NOT NULL,  -- a hash of the device, the person and the cards
    fields        TEXT NOT NULL,  -- the only fields that are proposed, a line each; empty for all
    base          TEXT NOT NULL,  -- the card that the device had, and the id of its photo: empty if unknown, and once it is approved
    base_photo    TEXT COLLATE "C" NOT NULL,
    card          TEXT NOT NULL,  -- the card that the device sent, and the id of its photo: empty once it is approved
    photo         TEXT COLLATE "C" NOT NULL,
    state         TEXT NOT NULL,  -- waiting, approved or refused
    change_id     TEXT COLLATE "C",            -- the change that was made; NULL for none
    created_at    TIMESTAMPTZ NOT NULL,
    decided_at    TIMESTAMPTZ,           -- NULL while it waits
    PRIMARY KEY (tenant_id, id)
);
-- What waits, to list and to count it.
CREATE INDEX proposals_waiting ON proposals (tenant_id, id) WHERE state = 'waiting';
-- A card that a device sends again.
CREATE INDEX proposals_fingerprint ON proposals (tenant_id, fingerprint);
-- Deletes old proposals.
CREATE INDEX proposals_decided ON proposals (decided_at) WHERE decided_at IS NOT NULL;

-- Photos of people, in three sizes. connections.photo names the current one. The one
-- before is kept for 30 days after it was used, and those of a person in the bin too, so that an
-- undo restores them: no row of connections has to exist.
CREATE TABLE photos (
    tenant_id     TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    connection_id TEXT COLLATE "C" NOT NULL,
    id            TEXT COLLATE "C" NOT NULL,  -- a hash of the largest size
    size          INTEGER NOT NULL,  -- the length of a side, in pixels
    media         TEXT NOT NULL,     -- image/jpeg or image/png
    unused_at     TIMESTAMPTZ,         -- when a sweep found it unused; NULL if it is in use
    data          BYTEA NOT NULL,
    PRIMARY KEY (tenant_id, connection_id, id, size)
);
-- Deletes unused photos.
CREATE INDEX photos_unused ON photos (unused_at) WHERE unused_at IS NOT NULL;

-- The addresses of a person: e-mail, phone, web pages, social networks. Several
-- people may share an address.
CREATE TABLE handles (
    tenant_id     TEXT COLLATE "C" NOT NULL,
    id            TEXT COLLATE "C" NOT NULL,
    connection_id TEXT COLLATE "C" NOT NULL,
    kind          TEXT COLLATE "C" NOT NULL,  -- email, phone, url or social
    value         TEXT NOT NULL,
    normal_value  TEXT COLLATE "C" NOT NULL,
    label         TEXT NOT NULL,
    ordinal       INTEGER NOT NULL,           -- the order within a person; the first of a kind is the preferred one
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, connection_id, kind, normal_value),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);
-- Who has an address: a covering index, because it includes connection_id.
CREATE INDEX handles_value ON handles (tenant_id, kind, normal_value, connection_id);

-- The match keys of a person: hashes of the addresses, and of the name with a current
-- organisation. find_duplicates compares people who share one.
CREATE TABLE duplicate_keys (
    tenant_id     TEXT COLLATE "C" NOT NULL,
    connection_id TEXT COLLATE "C" NOT NULL,
    key           BIGINT NOT NULL,
    shared        BOOLEAN NOT NULL,  -- others have or had it, too
    PRIMARY KEY (tenant_id, key, connection_id),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);
-- The keys of a person.
CREATE INDEX duplicate_keys_connection ON duplicate_keys (tenant_id, connection_id);
-- The few people who share a key.
CREATE INDEX duplicate_keys_shared ON duplicate_keys (tenant_id, connection_id) WHERE shared;

-- An organisation that people work at.
CREATE TABLE organizations (
    tenant_id   TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id          TEXT COLLATE "C" NOT NULL,
    name        TEXT NOT NULL,
    normal_name TEXT COLLATE "C" NOT NULL,
    domain      TEXT NOT NULL,
    website     TEXT NOT NULL DEFAULT '',
    address     TEXT NOT NULL DEFAULT '',
    notes       TEXT NOT NULL DEFAULT '',
    created_at  TIMESTAMPTZ NOT NULL,
    updated_at  TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, normal_name)
);

-- A job of a person, present or past.
CREATE TABLE positions (
    tenant_id       TEXT COLLATE "C" NOT NULL,
    id              TEXT COLLATE "C" NOT NULL,
    connection_id   TEXT COLLATE "C" NOT NULL,
    organization_id TEXT COLLATE "C",  -- NULL if only the title is known
    title           TEXT NOT NULL,
    started_on      TEXT NOT NULL,     -- a partial date
    ended_on        TEXT NOT NULL,     -- a partial date
    current         BOOLEAN NOT NULL,
    ordinal         INTEGER NOT NULL,  -- the order within a person
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, organization_id) REFERENCES organizations (tenant_id, id)
);
-- The positions of a person.
CREATE INDEX positions_connection ON positions (tenant_id, connection_id);
-- Who works at an organisation.
CREATE INDEX positions_organization ON positions (tenant_id, organization_id);

-- A birthday, an anniversary or another date of a person.
CREATE TABLE important_dates (
    tenant_id     TEXT COLLATE "C" NOT NULL,
    id            TEXT COLLATE "C" NOT NULL,
    connection_id TEXT COLLATE "C" NOT NULL,
    kind          TEXT NOT NULL,
    label         TEXT NOT NULL,     -- what a date of kind other is
    year          INTEGER NOT NULL,  -- 0 if unknown, as month and day
    month         INTEGER NOT NULL,
    day           INTEGER NOT NULL,
    about         BOOLEAN NOT NULL DEFAULT FALSE,  -- whether the year, of which alone the date consists, is not certain
    ordinal       INTEGER NOT NULL,  -- the order within a person
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);
-- The dates of a person.
CREATE INDEX important_dates_connection ON important_dates (tenant_id, connection_id);
-- The dates in the coming days, of any year.
CREATE INDEX important_dates_day ON important_dates (tenant_id, month, day, id);

-- How two people are related. type says what to_id is to from_id, such as their
-- manager; the inverse is not stored.
CREATE TABLE relationships (
    tenant_id  TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    from_id    TEXT COLLATE "C" NOT NULL,
    to_id      TEXT COLLATE "C" NOT NULL,
    type       TEXT COLLATE "C" NOT NULL,
    label      TEXT NOT NULL DEFAULT '',  -- a word that says more of to_id than type; inverse_label says more of from_id
    inverse_label TEXT NOT NULL DEFAULT '',
    created_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, from_id, to_id, type),
    FOREIGN KEY (tenant_id, from_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, to_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);
-- The relationships of a person from the other end.
CREATE INDEX relationships_to ON relationships (tenant_id, to_id, from_id, type);

-- Two people of whom the member said that they are not the same: they are no longer shown as
-- possible duplicates.
CREATE TABLE distinct_pairs (
    tenant_id  TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    first_id   TEXT COLLATE "C" NOT NULL,  -- the lower id of the two
    second_id  TEXT COLLATE "C" NOT NULL,
    said_by    TEXT COLLATE "C" NOT NULL,  -- the name of the credential; empty if the member said so on a page
    created_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, first_id, second_id),
    CHECK (first_id < second_id),
    FOREIGN KEY (tenant_id, first_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, second_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);
-- The pairs of a person from the other end.
CREATE INDEX distinct_pairs_second ON distinct_pairs (tenant_id, second_id);


-- Groups and tags ---------------------------------------------------------------------

-- A group of people, with a keep-in-touch interval if the member wants one.
CREATE TABLE groups (
    tenant_id    TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id           TEXT COLLATE "C" NOT NULL,
    name         TEXT NOT NULL,
    folded_name  TEXT COLLATE "C" NOT NULL,
    description  TEXT NOT NULL,
    cadence_days INTEGER NOT NULL,  -- 0 for none
    version      INTEGER NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    updated_at   TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, folded_name)
);

-- A custom field: one that the member defined for people. connections.fields has the values.
CREATE TABLE custom_fields (
    tenant_id   TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id          TEXT COLLATE "C" NOT NULL,
    name        TEXT NOT NULL,
    folded_name TEXT COLLATE "C" NOT NULL,
    type        TEXT NOT NULL,  -- text, number, date, yes_no, choice or link
    choices     TEXT,           -- as JSON; NULL for none
    created_at  TIMESTAMPTZ NOT NULL,
    updated_at  TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, folded_name)
);

-- Names for filters of the list of people.
CREATE TABLE saved_views (
    tenant_id   TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id          TEXT COLLATE "C" NOT NULL,
    name        TEXT NOT NULL,
    folded_name TEXT COLLATE "C" NOT NULL,
    query       TEXT NOT NULL,  -- parameters of an address
    created_at  TIMESTAMPTZ NOT NULL,
    updated_at  TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, folded_name)
);

-- When a member gets a digest by mail: one row per member who ever chose it.
CREATE TABLE digests (
    tenant_id          TEXT COLLATE "C" PRIMARY KEY REFERENCES members (id) ON DELETE CASCADE,
    rhythm             TEXT NOT NULL,               -- daily, weekly, or off
    weekday            INTEGER NOT NULL,            -- of a weekly one: 0 is Sunday
    hour               INTEGER NOT NULL,            -- of the day in the member's time zone, from 0 to 23
    lead_days          INTEGER NOT NULL,            -- how many days before a birthday it is named for the first time
    next_at            TIMESTAMPTZ,                 -- when a worker looks at it again; NULL while it is off
    settled_day        TEXT COLLATE "C" NOT NULL,   -- the last day whose digest was sent or had nothing to say, in the member's time zone; empty for none
    covered_until      TIMESTAMPTZ,                 -- the last digest has what happened until then
    sent_at            TIMESTAMPTZ,                 -- when the last one was delivered to the mail server
    failing_since      TIMESTAMPTZ,                 -- since when none can be delivered; NULL if the last one was
    failure            TEXT NOT NULL DEFAULT '',    -- why, a word of package digest
    unsubscribe_secret TEXT COLLATE "C" UNIQUE,        -- of the link in each mail that turns it off, and nothing else; NULL before the first
    updated_at         TIMESTAMPTZ NOT NULL
);
-- The digests that are due.
CREATE INDEX digests_next ON digests (next_at) WHERE next_at IS NOT NULL;

-- Who is in which group.
CREATE TABLE group_connections (
    tenant_id     TEXT COLLATE "C" NOT NULL,
    group_id      TEXT COLLATE "C" NOT NULL,
    connection_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, group_id, connection_id),
    FOREIGN KEY (tenant_id, group_id) REFERENCES groups (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);
-- The groups of a person.
CREATE INDEX group_connections_connection ON group_connections (tenant_id, connection_id);

-- A word that people are marked with.
CREATE TABLE tags (
    tenant_id   TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id          TEXT COLLATE "C" NOT NULL,
    name        TEXT NOT NULL,
    folded_name TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, folded_name)
);

-- Who has which tag.
CREATE TABLE connection_tags (
    tenant_id     TEXT COLLATE "C" NOT NULL,
    connection_id TEXT COLLATE "C" NOT NULL,
    tag_id        TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, connection_id, tag_id),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, tag_id) REFERENCES tags (tenant_id, id) ON DELETE CASCADE
);
-- The people with a tag.
CREATE INDEX connection_tags_tag ON connection_tags (tenant_id, tag_id);


-- Timeline ----------------------------------------------------------------------------

-- A note about one person or several.
CREATE TABLE notes (
    tenant_id  TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id         TEXT COLLATE "C" NOT NULL,
    body       TEXT NOT NULL,
    pinned     BOOLEAN NOT NULL,
    noted_at   TIMESTAMPTZ NOT NULL, -- the noon of day, or else created_at: notes are sorted by it
    day        TEXT NOT NULL DEFAULT '', -- the day that it is about, as the caller gave it; empty for none
    version    INTEGER NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
-- The timeline, latest first.
CREATE INDEX notes_noted ON notes (tenant_id, noted_at, id);

-- Who a note is about.
CREATE TABLE note_connections (
    tenant_id     TEXT COLLATE "C" NOT NULL,
    connection_id TEXT COLLATE "C" NOT NULL,
    note_id       TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, connection_id, note_id),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, note_id) REFERENCES notes (tenant_id, id) ON DELETE CASCADE
);
-- The people of a note.
CREATE INDEX note_connections_note ON note_connections (tenant_id, note_id);

-- A meeting, a call, a message: something that took place with people.
CREATE TABLE interactions (
    tenant_id        TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id               TEXT COLLATE "C" NOT NULL,
    kind             TEXT NOT NULL,
    occurred_at      TIMESTAMPTZ NOT NULL,
    occurred_local   TEXT NOT NULL DEFAULT '',  -- as the caller gave it: a day, or a time with its offset; empty for a time in UTC
    duration_minutes INTEGER NOT NULL,
    summary          TEXT NOT NULL,
    external_key     TEXT COLLATE "C",  -- the caller's own key, so that the same interaction is logged once
    created_at       TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, external_key)
);
-- The timeline, latest first.
CREATE INDEX interactions_occurred ON interactions (tenant_id, occurred_at, id);

-- Who took part in an interaction.
CREATE TABLE interaction_connections (
    tenant_id      TEXT COLLATE "C" NOT NULL,
    connection_id  TEXT COLLATE "C" NOT NULL,
    interaction_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, connection_id, interaction_id),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, interaction_id) REFERENCES interactions (tenant_id, id) ON DELETE CASCADE
);
-- The people of an interaction.
CREATE INDEX interaction_connections_interaction ON interaction_connections (tenant_id, interaction_id);


-- The index of words of notes and interactions: see backend/internal/wordindex. Its rows are derived from theirs.

-- The number of an entry, and the terms under which it is indexed.
CREATE TABLE entry_numbers (
    tenant_id TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    entry_id  TEXT COLLATE "C" NOT NULL,  -- of a note or an interaction
    number    INTEGER NOT NULL,
    terms     TEXT NOT NULL,
    PRIMARY KEY (tenant_id, number),
    UNIQUE (tenant_id, entry_id)
);

-- Which entries have a term, by their numbers, up to the last.
CREATE TABLE entry_words (
    tenant_id TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    word      TEXT COLLATE "C" NOT NULL,
    last      INTEGER NOT NULL,
    postings  BYTEA NOT NULL,
    PRIMARY KEY (tenant_id, word, last)
);

-- The times and kinds of a block of entries, by their numbers.
CREATE TABLE entry_blocks (
    tenant_id    TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    block        INTEGER NOT NULL,
    data_version BIGINT NOT NULL,  -- the data version of the write that changed the block last
    times        BYTEA NOT NULL,
    kinds        BYTEA NOT NULL,
    PRIMARY KEY (tenant_id, block)
);
CREATE INDEX entry_blocks_version ON entry_blocks (tenant_id, data_version);


-- Sources -----------------------------------------------------------------------------

-- Calendars and address books that are read again and again.
CREATE TABLE sources (
    tenant_id    TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id           TEXT COLLATE "C" NOT NULL,
    kind         TEXT COLLATE "C" NOT NULL,  -- calendar or book
    name         TEXT COLLATE "C" NOT NULL,
    host         TEXT COLLATE "C" NOT NULL,  -- of the address
    address      TEXT COLLATE "C" NOT NULL,  -- with what signs in there, encrypted with the secret key
    state        TEXT COLLATE "C" NOT NULL,  -- preview, on or paused
    since        TIMESTAMPTZ NOT NULL,
    options      TEXT COLLATE "C" NOT NULL,  -- JSON
    import_id    TEXT COLLATE "C" NOT NULL,  -- that the changes of all runs are part of
    next_at      TIMESTAMPTZ NOT NULL,
    tried_at     TIMESTAMPTZ,
    succeeded_at TIMESTAMPTZ,
    failed_since TIMESTAMPTZ,
    problem      TEXT COLLATE "C" NOT NULL,  -- why the last try failed; empty if it did not
    report       TEXT COLLATE "C" NOT NULL,  -- JSON, of the last run that succeeded
    created_at   TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX sources_due ON sources (next_at, tenant_id) WHERE state = 'on';

-- The meetings of sources with people on file. They have no foreign key to interactions, which the member may delete.
CREATE TABLE source_meetings (
    tenant_id      TEXT COLLATE "C" NOT NULL,
    source_id      TEXT COLLATE "C" NOT NULL,
    key            TEXT COLLATE "C" NOT NULL,  -- the calendar's key as hashes
    starts_at      TIMESTAMPTZ NOT NULL,
    ends_at        TIMESTAMPTZ NOT NULL,
    all_day        BOOLEAN NOT NULL,
    title          TEXT COLLATE "C" NOT NULL,
    connection_ids TEXT COLLATE "C" NOT NULL,  -- JSON
    interaction_id TEXT COLLATE "C" NOT NULL,  -- empty before it is logged
    PRIMARY KEY (tenant_id, source_id, key),
    FOREIGN KEY (tenant_id, source_id) REFERENCES sources (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX source_meetings_ahead ON source_meetings (tenant_id, starts_at) WHERE interaction_id = '';

-- Attendees of meetings that are over who are not on file.
CREATE TABLE source_people (
    tenant_id TEXT COLLATE "C" NOT NULL,
    source_id TEXT COLLATE "C" NOT NULL,
    email     TEXT COLLATE "C" NOT NULL,
    name      TEXT COLLATE "C" NOT NULL,
    meetings  INTEGER NOT NULL,
    last_at   TIMESTAMPTZ NOT NULL,
    dismissed BOOLEAN NOT NULL,
    PRIMARY KEY (tenant_id, source_id, email),
    FOREIGN KEY (tenant_id, source_id) REFERENCES sources (tenant_id, id) ON DELETE CASCADE
);

-- The cards of address books, and the one of each that was taken last: the next one is merged against it.
CREATE TABLE source_cards (
    tenant_id     TEXT COLLATE "C" NOT NULL,
    source_id     TEXT COLLATE "C" NOT NULL,
    key           TEXT COLLATE "C" NOT NULL,  -- a hash of the card's address
    etag          TEXT COLLATE "C" NOT NULL,  -- empty if the server has none, and for a card that is read again
    hash          TEXT COLLATE "C" NOT NULL,  -- of the content
    connection_id TEXT COLLATE "C" NOT NULL,  -- whose card it is; they may be deleted. Empty for a card that was not taken
    photo         TEXT COLLATE "C" NOT NULL,  -- the id of the photo; empty for none
    card          BYTEA NOT NULL,  -- the card without the photo, compressed (RFC 1951)
    gone          BOOLEAN NOT NULL,  -- the address book has it no longer
    problem       TEXT COLLATE "C" NOT NULL,  -- why it was not taken; empty if it was
    PRIMARY KEY (tenant_id, source_id, key),
    FOREIGN KEY (tenant_id, source_id) REFERENCES sources (tenant_id, id) ON DELETE CASCADE
);
-- What goes with a person.
CREATE INDEX source_cards_connection ON source_cards (tenant_id, connection_id);


-- Reminders ---------------------------------------------------------------------------

-- Something that the member wants to be reminded of, with or without people.
CREATE TABLE reminders (
    tenant_id     TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id            TEXT COLLATE "C" NOT NULL,
    text          TEXT NOT NULL,
    due_on        TEXT COLLATE "C" NOT NULL,  -- a day
    starts_on     TEXT NOT NULL,              -- the day that recurrences are counted from: the 31st stays the 31st after February
    recurrence    TEXT NOT NULL,              -- empty for none
    state         TEXT COLLATE "C" NOT NULL,  -- open, done or dismissed
    version       INTEGER NOT NULL,
    created_at    TIMESTAMPTZ NOT NULL,
    updated_at    TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
-- Open reminders that are due up to a day.
CREATE INDEX reminders_due ON reminders (tenant_id, state, due_on, id);

-- Who a reminder is about.
CREATE TABLE reminder_connections (
    tenant_id     TEXT COLLATE "C" NOT NULL,
    connection_id TEXT COLLATE "C" NOT NULL,
    reminder_id   TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, connection_id, reminder_id),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, reminder_id) REFERENCES reminders (tenant_id, id) ON DELETE CASCADE
);
-- The people of a reminder.
CREATE INDEX reminder_connections_reminder ON reminder_connections (tenant_id, reminder_id);


-- History -----------------------------------------------------------------------------

-- One write with its effects, so that it can be listed and undone.
CREATE TABLE changes (
    tenant_id       TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id              TEXT COLLATE "C" NOT NULL,
    number          BIGINT NOT NULL,                 -- grows with each change of the member
    credential_id   TEXT NOT NULL,                   -- empty if the member wrote on a page
    credential_name TEXT NOT NULL,
    tool            TEXT NOT NULL,                   -- the tool or the page
    summary         TEXT NOT NULL DEFAULT '',        -- one line
    effects         TEXT NOT NULL DEFAULT '[]',      -- the objects with their states before and after, in order
    final           BOOLEAN NOT NULL DEFAULT FALSE,  -- cannot be undone: all its objects were deleted for good
    final_at        TIMESTAMPTZ,                     -- a deletion is in the bin until then; NULL for other changes
    import_id       TEXT COLLATE "C",                -- the import that the change is a part of
    undone_by       TEXT,                            -- the change that undid this one
    undoes          TEXT,                            -- the change or the import that this one undid
    created_at      TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
-- The order of the changes, and the part of it that a time begins or ends.
CREATE UNIQUE INDEX changes_number ON changes (tenant_id, number);
CREATE INDEX changes_created_at ON changes (tenant_id, created_at, number);
-- The changes of an import, to undo it.
CREATE INDEX changes_import ON changes (tenant_id, import_id) WHERE import_id IS NOT NULL;
-- Deletions that become final.
CREATE INDEX changes_final_at ON changes (final_at) WHERE final_at IS NOT NULL;

-- The objects of each change, to find the changes of a person or of another object.
CREATE TABLE change_objects (
    tenant_id TEXT COLLATE "C" NOT NULL,
    object_id TEXT COLLATE "C" NOT NULL,
    change_id TEXT COLLATE "C" NOT NULL,
    kind      TEXT COLLATE "C" NOT NULL, -- the kind of object; 'about' for a person whom the state of another object names
    PRIMARY KEY (tenant_id, object_id, change_id, kind),
    FOREIGN KEY (tenant_id, change_id) REFERENCES changes (tenant_id, id) ON DELETE CASCADE
);
-- The objects of a change, to delete them with it.
CREATE INDEX change_objects_change ON change_objects (tenant_id, change_id);


-- Search by meaning -------------------------------------------------------------------

-- The vector of a person.
CREATE TABLE embeddings (
    tenant_id     TEXT COLLATE "C" NOT NULL,
    connection_id TEXT COLLATE "C" NOT NULL,
    model         TEXT NOT NULL,
    dimensions    INTEGER NOT NULL,
    content_hash  TEXT NOT NULL,    -- of the text that the vector was made from
    vector        BYTEA NOT NULL,   -- 32-bit floats, little-endian
    text_version  BIGINT NOT NULL,  -- the data version at which that text was read
    data_version  BIGINT NOT NULL,  -- the data version of the write that stored the vector
    updated_at    TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, connection_id),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);
-- What changed since the vectors of a member were read.
CREATE INDEX embeddings_version ON embeddings (tenant_id, data_version);


-- Imports and jobs --------------------------------------------------------------------

-- An uploaded file, until an import has read it; a day at most if none does.
CREATE TABLE files (
    tenant_id  TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id         TEXT COLLATE "C" NOT NULL,
    name       TEXT NOT NULL,
    sha256     TEXT NOT NULL,
    size       INTEGER NOT NULL,          -- bytes
    content    BYTEA NOT NULL,
    import_id  TEXT NOT NULL DEFAULT '',  -- the import that reads it; empty while it waits for one
    choices    TEXT NOT NULL DEFAULT '',  -- JSON: what the member chose for it so far
    created_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
-- Deletes files that were not imported.
CREATE INDEX files_created ON files (created_at);

-- The keys that identify a person in imported files, so that a second import of a file
-- finds the people of the first.
CREATE TABLE source_keys (
    tenant_id     TEXT COLLATE "C" NOT NULL,
    key           TEXT COLLATE "C" NOT NULL,  -- a hash of the source and its key, or of a whole record
    connection_id TEXT COLLATE "C" NOT NULL,
    import_id     TEXT COLLATE "C" NOT NULL,  -- the import that added the person; empty if they existed before
    name          TEXT COLLATE "C" NOT NULL,  -- the person's name in the file
    PRIMARY KEY (tenant_id, key),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);
-- The keys of a person.
CREATE INDEX source_keys_connection ON source_keys (tenant_id, connection_id);

-- Work that outlives a request. A backend claims a job for the time of its lease. A
-- job that ended is deleted 30 days later.
CREATE TABLE jobs (
    id               TEXT COLLATE "C" PRIMARY KEY,
    tenant_id        TEXT COLLATE "C" REFERENCES members (id) ON DELETE CASCADE,  -- NULL for the system's own jobs
    number           INTEGER NOT NULL,                                            -- counts a member's jobs from 1; the task_id of the API
    kind             TEXT COLLATE "C" NOT NULL,
    state            TEXT NOT NULL,                                               -- queued, running, succeeded, failed or cancelled
    params           TEXT NOT NULL,                                               -- what to do
    checkpoint       TEXT NOT NULL,                                               -- how far it got
    result           TEXT NOT NULL,
    error_code       TEXT NOT NULL,                                               -- this and error_detail tell the member why it failed
    error_detail     TEXT NOT NULL,
    done             INTEGER NOT NULL,
    total            INTEGER NOT NULL,                                            -- 0 while unknown
    attempts         INTEGER NOT NULL,                                            -- claims since the last step that succeeded
    fence            BIGINT NOT NULL,                                             -- grows with each claim: a step under an older claim is refused
    run_at           TIMESTAMPTZ NOT NULL,
    lease_until      TIMESTAMPTZ,
    cancel_requested BOOLEAN NOT NULL,
    credential_id    TEXT NOT NULL,                                               -- this, credential_name and tool: who started it, and how
    credential_name  TEXT NOT NULL,
    tool             TEXT NOT NULL,
    trace            TEXT NOT NULL DEFAULT '',                          -- the trace of the request that started it, as in the header traceparent; empty if it is not sampled
    period           TEXT NOT NULL,                                               -- the month whose credits were charged, YYYY-MM
    charged          INTEGER NOT NULL,                                            -- credits that are given back if it fails
    created_at       TIMESTAMPTZ NOT NULL,
    updated_at       TIMESTAMPTZ NOT NULL,
    ended_at         TIMESTAMPTZ
);
-- A member's job by its number.
CREATE UNIQUE INDEX jobs_number ON jobs (tenant_id, number) WHERE tenant_id IS NOT NULL;
-- At most one live job of a kind for each member, and one for the system. Several
-- decisions can wait, and the next reading of sources while one runs.
CREATE UNIQUE INDEX jobs_live ON jobs (coalesce(tenant_id, ''), kind) WHERE state IN ('queued', 'running') AND kind NOT IN ('decision', 'sync_sources');
-- Jobs to claim.
CREATE INDEX jobs_due ON jobs (run_at) WHERE state = 'queued';
-- Jobs whose lease ran out, to claim again.
CREATE INDEX jobs_leased ON jobs (lease_until) WHERE state = 'running';
-- Deletes old jobs.
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;

-- A call of an agent that needs the member's approval. Deleted 90 days after its approval
-- has expired.
CREATE TABLE decisions (
    tenant_id       TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id              TEXT COLLATE "C" NOT NULL,
    job_id          TEXT COLLATE "C" NOT NULL,  -- the job that tells the agent how it ended, and does what is approved
    task_id         INTEGER NOT NULL,           -- its number
    credential_id   TEXT COLLATE "C" NOT NULL,  -- who asks
    credential_name TEXT NOT NULL,
    tool            TEXT NOT NULL,
    kinds           TEXT NOT NULL,              -- why it is asked: delete, merge, import and bulk, separated by single spaces
    fingerprint     TEXT COLLATE "C" NOT NULL,  -- a hash of the arguments
    arguments       TEXT NOT NULL,              -- of the call, and in preview what it would change: '' and {} once it has ended
    preview         TEXT NOT NULL,
    state           TEXT NOT NULL,              -- waiting, approved, done, failed, refused, expired or cancelled
    change_id       TEXT,                       -- the change that was made once it was approved; NULL for none
    created_at      TIMESTAMPTZ NOT NULL,
    expires_at      TIMESTAMPTZ NOT NULL,       -- until when it can be approved
    decided_at      TIMESTAMPTZ,                -- NULL while it waits
    PRIMARY KEY (tenant_id, id)
);
-- The decision of a job.
CREATE INDEX decisions_job ON decisions (tenant_id, job_id);
-- The waiting calls, to list them, and to find a repeated one.
CREATE INDEX decisions_waiting ON decisions (tenant_id, id) WHERE state = 'waiting';
-- What is cancelled when an agent loses its access.
CREATE INDEX decisions_credential ON decisions (credential_id) WHERE state IN ('waiting', 'approved');
-- Deletes old decisions.
CREATE INDEX decisions_expires ON decisions (expires_at);


-- Billing -----------------------------------------------------------------------------

-- What is left of a month's credits: the sum of the ledger's entries of that month. Each
-- metered call changes a row: free space in the pages keeps its versions on one page.
CREATE TABLE credit_balances (
    tenant_id TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    period    TEXT COLLATE "C" NOT NULL,  -- YYYY-MM
    allowance INTEGER NOT NULL,           -- of the plan
    balance   INTEGER NOT NULL CHECK (balance >= 0),
    PRIMARY KEY (tenant_id, period)
) WITH (fillfactor = 25);

-- The ledger; entries are only added. It is read by member and month, which the primary
-- key serves, so that a metered call writes to one index only.
CREATE TABLE credit_entries (
    tenant_id     TEXT COLLATE "C" NOT NULL,
    id            TEXT COLLATE "C" NOT NULL,
    period        TEXT COLLATE "C" NOT NULL,
    delta         INTEGER NOT NULL,
    balance_after INTEGER NOT NULL,
    reason        TEXT NOT NULL,     -- allowance, plan, calls or refund
    tool          TEXT NOT NULL,     -- what calls paid for; empty for other reasons
    calls         INTEGER NOT NULL,  -- how many calls; 0 for other reasons
    created_at    TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, period, id),
    FOREIGN KEY (tenant_id, period) REFERENCES credit_balances (tenant_id, period) ON DELETE CASCADE
);


-- How often agents called tools that read, by day. Written with the charge of the calls, and
-- kept for 90 days.
CREATE TABLE agent_reads (
    tenant_id       TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    day             TEXT COLLATE "C" NOT NULL,  -- YYYY-MM-DD, in UTC
    credential_id   TEXT COLLATE "C" NOT NULL,
    tool            TEXT COLLATE "C" NOT NULL,
    credential_name TEXT NOT NULL,  -- at the last call
    reads           INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, day, credential_id, tool)
);
-- Deletes old counts.
CREATE INDEX agent_reads_day ON agent_reads (day);


-- Every call --------------------------------------------------------------------------

-- The response to a request with an idempotency key, which a repeat gets again.
CREATE TABLE idempotency_keys (
    scope       TEXT COLLATE "C" NOT NULL,                                   -- the id of a credential, or the address of a caller without one
    key         TEXT COLLATE "C" NOT NULL,
    tenant_id   TEXT COLLATE "C" REFERENCES members (id) ON DELETE CASCADE,  -- NULL for a caller without a credential
    fingerprint TEXT NOT NULL,                                               -- of the request: the key must not be used for another one
    answer      BYTEA NOT NULL,
    expires_at  TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (scope, key)
);
-- Deletes expired keys.
CREATE INDEX idempotency_keys_expires ON idempotency_keys (expires_at);
-- Deletes the keys of a member.
CREATE INDEX idempotency_keys_tenant ON idempotency_keys (tenant_id);


-- The service -------------------------------------------------------------------------

-- When the removal of a deprecated path was first announced, and for which date.
CREATE TABLE sunsets (
    route              TEXT COLLATE "C" PRIMARY KEY,
    first_announced_at TIMESTAMPTZ NOT NULL,
    sunset_at          TIMESTAMPTZ NOT NULL  -- the latest date that was announced
);

-- What belongs to the whole installation: one row at most.
CREATE TABLE installation (
    number       INTEGER PRIMARY KEY CHECK (number = 1),
    probed_at    TIMESTAMPTZ,  -- when a write last proved that the database can be written
    swept_at     TIMESTAMPTZ,  -- when expired rows were last deleted, by the clock of that time
    backed_up_at TIMESTAMPTZ   -- when a backup of the whole database was last complete
);

-- The demo account, and the day that its dates are relative to: one row at most.
CREATE TABLE sandbox_states (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    username   TEXT NOT NULL,
    seeded_for TEXT NOT NULL
);


-- Counts ------------------------------------------------------------------------------

-- Triggers that count notes and interactions in tenant_states, once for each statement.
CREATE FUNCTION kith_count_entries() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    sign integer := CASE WHEN TG_OP = 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    IF TG_TABLE_NAME = 'notes' THEN
        UPDATE tenant_states s SET notes = s.notes + sign * c.entries
            FROM (SELECT tenant_id, count(*) AS entries FROM counted GROUP BY tenant_id) AS c WHERE s.tenant_id = c.tenant_id;
    ELSE
        UPDATE tenant_states s SET interactions = s.interactions + sign * c.entries
            FROM (SELECT tenant_id, count(*) AS entries FROM counted GROUP BY tenant_id) AS c WHERE s.tenant_id = c.tenant_id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER notes_inserted AFTER INSERT ON notes REFERENCING NEW TABLE AS counted FOR EACH STATEMENT EXECUTE FUNCTION kith_count_entries();
CREATE TRIGGER notes_deleted AFTER DELETE ON notes REFERENCING OLD TABLE AS counted FOR EACH STATEMENT EXECUTE FUNCTION kith_count_entries();
CREATE TRIGGER interactions_inserted AFTER INSERT ON interactions REFERENCING NEW TABLE AS counted FOR EACH STATEMENT EXECUTE FUNCTION kith_count_entries();
CREATE TRIGGER interactions_deleted AFTER DELETE ON interactions REFERENCING OLD TABLE AS counted FOR EACH STATEMENT EXECUTE FUNCTION kith_count_entries();

-- Triggers that count the bytes of photos, files, proposals and recorded changes in tenant_states.
CREATE FUNCTION kith_count_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    sign integer := CASE WHEN TG_OP = 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    IF TG_TABLE_NAME = 'photos' THEN
        UPDATE tenant_states s SET kept_bytes = s.kept_bytes + sign * c.bytes
            FROM (SELECT tenant_id, sum(octet_length(data)) AS bytes FROM counted GROUP BY tenant_id) AS c WHERE s.tenant_id = c.tenant_id;
    ELSIF TG_TABLE_NAME = 'files' THEN
        UPDATE tenant_states s SET kept_bytes = s.kept_bytes + sign * c.bytes
            FROM (SELECT tenant_id, sum(size) AS bytes FROM counted GROUP BY tenant_id) AS c WHERE s.tenant_id = c.tenant_id;
    ELSIF TG_TABLE_NAME = 'proposals' THEN
        UPDATE tenant_states s SET kept_bytes = s.kept_bytes + sign * c.bytes
            FROM (SELECT tenant_id, sum(octet_length(card)) AS bytes FROM counted GROUP BY tenant_id) AS c WHERE s.tenant_id = c.tenant_id;
    ELSE
        UPDATE tenant_states s SET kept_bytes = s.kept_bytes + sign * c.bytes
            FROM (SELECT tenant_id, sum(octet_length(effects)) AS bytes FROM counted GROUP BY tenant_id) AS c WHERE s.tenant_id = c.tenant_id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER photos_inserted AFTER INSERT ON photos REFERENCING NEW TABLE AS counted FOR EACH STATEMENT EXECUTE FUNCTION kith_count_bytes();
CREATE TRIGGER photos_deleted AFTER DELETE ON photos REFERENCING OLD TABLE AS counted FOR EACH STATEMENT EXECUTE FUNCTION kith_count_bytes();
CREATE TRIGGER files_inserted AFTER INSERT ON files REFERENCING NEW TABLE AS counted FOR EACH STATEMENT EXECUTE FUNCTION kith_count_bytes();
CREATE TRIGGER files_deleted AFTER DELETE ON files REFERENCING OLD TABLE AS counted FOR EACH STATEMENT EXECUTE FUNCTION kith_count_bytes();
CREATE TRIGGER changes_inserted AFTER INSERT ON changes REFERENCING NEW TABLE AS counted FOR EACH STATEMENT EXECUTE FUNCTION kith_count_bytes();
CREATE TRIGGER changes_deleted AFTER DELETE ON changes REFERENCING OLD TABLE AS counted FOR EACH STATEMENT EXECUTE FUNCTION kith_count_bytes();
CREATE TRIGGER proposals_inserted AFTER INSERT ON proposals REFERENCING NEW TABLE AS counted FOR EACH STATEMENT EXECUTE FUNCTION kith_count_bytes();
CREATE TRIGGER proposals_deleted AFTER DELETE ON proposals REFERENCING OLD TABLE AS counted FOR EACH STATEMENT EXECUTE FUNCTION kith_count_bytes();
CREATE FUNCTION kith_count_changed_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tenant_states SET kept_bytes = kept_bytes + octet_length(NEW.effects) - octet_length(OLD.effects) WHERE tenant_id = NEW.tenant_id;
    RETURN NULL;
END $$;
CREATE FUNCTION kith_count_decided_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tenant_states SET kept_bytes = kept_bytes + octet_length(NEW.card) - octet_length(OLD.card) WHERE tenant_id = NEW.tenant_id;
    RETURN NULL;
END $$;
CREATE TRIGGER proposals_updated AFTER UPDATE OF card ON proposals FOR EACH ROW EXECUTE FUNCTION kith_count_decided_bytes();
CREATE TRIGGER changes_updated AFTER UPDATE OF effects ON changes FOR EACH ROW EXECUTE FUNCTION kith_count_changed_bytes();


-- Access that ends ------------------------------------------------------------------

-- When an agent loses its access, its waiting calls are cancelled in the same transaction,
-- whichever statement ends the access. The job of the decision tells the agent.
CREATE FUNCTION kith_cancel_decisions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE decisions SET state = 'cancelled', decided_at = NEW.revoked_at, arguments = '', preview = '{}'
        WHERE credential_id = NEW.id AND state IN ('waiting', 'approved');
    UPDATE jobs SET run_at = NEW.revoked_at WHERE tenant_id = NEW.member_id AND kind = 'decision' AND credential_id = NEW.id AND state = 'queued';
    RETURN NULL;
END $$;
CREATE TRIGGER grants_revoked AFTER UPDATE OF revoked_at ON grants FOR EACH ROW
    WHEN (OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION kith_cancel_decisions();
CREATE TRIGGER personal_tokens_revoked AFTER UPDATE OF revoked_at ON personal_tokens FOR EACH ROW
    WHEN (OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION kith_cancel_decisions();
-- What a device had goes with its access.
CREATE FUNCTION kith_forget_device_cards() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM device_cards WHERE device_id = NEW.id;
    DELETE FROM device_groups WHERE device_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER devices_revoked AFTER UPDATE OF revoked_at ON personal_tokens FOR EACH ROW
    WHEN (OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION kith_forget_device_cards();
-- What an address book said of a person goes with them. That they were there stays, so that they are not added again.
CREATE FUNCTION kith_forget_source_cards() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE source_cards SET card = '', photo = '', hash = '' WHERE tenant_id = OLD.tenant_id AND connection_id = OLD.id;
    RETURN NULL;
END $$;
CREATE TRIGGER connections_deleted_cards AFTER DELETE ON connections FOR EACH ROW EXECUTE FUNCTION kith_forget_source_cards();


-- Access ------------------------------------------------------------------------------

-- Only kith_service reaches the tables without a tenant, and those of credentials.
GRANT SELECT, INSERT, UPDATE, DELETE ON personal_tokens, login_sessions, mail_links, not_me_links, member_addresses, sign_ups, owner_links, login_attempts,
    security_events, linked_identities, provider_attempts, clients, authorization_requests, consent_answers, grants,
    authorization_codes, access_tokens, refresh_tokens, sandbox_states, installation TO kith_service;
GRANT SELECT, INSERT, UPDATE, DELETE ON totp_secrets, passkeys, passkey_challenges, recovery_codes, sign_in_steps, device_logins TO kith_service;
GRANT SELECT, INSERT, UPDATE ON sunsets TO kith_service;

-- The trigger function that refuses writes to a read-only tenant.
CREATE FUNCTION kith_refuse_read_only() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    owner text := CASE WHEN TG_OP = 'INSERT' THEN NEW.tenant_id ELSE OLD.tenant_id END;
BEGIN
    IF (SELECT read_only FROM tenant_states WHERE tenant_id = owner) THEN
        RAISE EXCEPTION 'kith: tenant is read-only' USING ERRCODE = '25006';
    END IF;
    IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
    RETURN NEW;
END $$;

{{.Protect "baseline"}}
