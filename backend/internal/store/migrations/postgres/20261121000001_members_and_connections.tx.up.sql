-- Members, their credentials and what each of them keeps. References carry
-- tenant_id, so that no row can point into another tenant. Keys compare byte by
-- byte (COLLATE "C"), as they do in SQLite.
CREATE TABLE members (
    id            TEXT COLLATE "C" PRIMARY KEY,
    username      TEXT COLLATE "C" NOT NULL UNIQUE,
    email         TEXT COLLATE "C" NOT NULL UNIQUE,
    password_hash TEXT NOT NULL DEFAULT '',
    timezone      TEXT NOT NULL DEFAULT 'UTC',
    locale        TEXT NOT NULL DEFAULT 'en',
    plan          TEXT NOT NULL,
    suspended_at  TIMESTAMPTZ,
    created_at    TIMESTAMPTZ NOT NULL,
    updated_at    TIMESTAMPTZ NOT NULL
);
--bun:split
-- What the tenant's own role may know and count of itself.
CREATE TABLE tenant_states (
    tenant_id    TEXT COLLATE "C" PRIMARY KEY REFERENCES members (id) ON DELETE CASCADE,
    data_version BIGINT NOT NULL DEFAULT 0,
    read_only    BOOLEAN NOT NULL DEFAULT FALSE
);
--bun:split
CREATE TABLE profiles (
    member_id        TEXT COLLATE "C" PRIMARY KEY REFERENCES members (id) ON DELETE CASCADE,
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
    visibility       TEXT NOT NULL DEFAULT 'private',
    field_visibility TEXT,
    listed           BOOLEAN NOT NULL DEFAULT FALSE,
    search_text      TEXT NOT NULL DEFAULT '',
    sort_name        TEXT COLLATE "C" NOT NULL DEFAULT '',
    updated_at       TIMESTAMPTZ NOT NULL
);
--bun:split
CREATE INDEX profiles_directory ON profiles (sort_name) WHERE listed AND visibility = 'public';
--bun:split
CREATE TABLE personal_tokens (
    id           TEXT COLLATE "C" PRIMARY KEY,
    member_id    TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    hash         TEXT COLLATE "C" NOT NULL UNIQUE,
    scopes       TEXT NOT NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ,
    last_used_at TIMESTAMPTZ,
    revoked_at   TIMESTAMPTZ
);
--bun:split
CREATE INDEX personal_tokens_member ON personal_tokens (member_id);
--bun:split
-- The day for which the demo account is seeded; one row at most.
CREATE TABLE sandbox_states (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    username   TEXT NOT NULL,
    seeded_for TEXT NOT NULL
);
--bun:split
CREATE TABLE connections (
    tenant_id           TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id                  TEXT COLLATE "C" NOT NULL,
    name                TEXT NOT NULL,
    nickname            TEXT NOT NULL,
    location            TEXT NOT NULL,
    bio                 TEXT NOT NULL,
    starred             BOOLEAN NOT NULL,
    met_on              TEXT NOT NULL,
    met_how             TEXT NOT NULL,
    source              TEXT NOT NULL,
    cadence_days        INTEGER NOT NULL,
    snoozed_until       TIMESTAMPTZ,
    last_interaction_at TIMESTAMPTZ,
    archived_at         TIMESTAMPTZ,
    merged_into         TEXT COLLATE "C",
    version             INTEGER NOT NULL,
    data_version        BIGINT NOT NULL,
    folded_name         TEXT COLLATE "C" NOT NULL,
    created_at          TIMESTAMPTZ NOT NULL,
    updated_at          TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
--bun:split
CREATE INDEX connections_name ON connections (tenant_id, folded_name);
--bun:split
CREATE INDEX connections_data_version ON connections (tenant_id, data_version);
--bun:split
CREATE TABLE handles (
    tenant_id     TEXT COLLATE "C" NOT NULL,
    id            TEXT COLLATE "C" NOT NULL,
    connection_id TEXT COLLATE "C" NOT NULL,
    kind          TEXT NOT NULL,
    value         TEXT NOT NULL,
    normal_value  TEXT COLLATE "C" NOT NULL,
    label         TEXT NOT NULL,
    ordinal       INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, connection_id, kind, normal_value),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE
);
--bun:split
CREATE INDEX handles_value ON handles (tenant_id, kind, normal_value);
--bun:split
CREATE TABLE organizations (
    tenant_id   TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id          TEXT COLLATE "C" NOT NULL,
    name        TEXT NOT NULL,
    normal_name TEXT COLLATE "C" NOT NULL,
    domain      TEXT NOT NULL,
    created_at  TIMESTAMPTZ NOT NULL,
    updated_at  TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, normal_name)
);
--bun:split
CREATE TABLE positions (
    tenant_id       TEXT COLLATE "C" NOT NULL,
    id              TEXT COLLATE "C" NOT NULL,
    connection_id   TEXT COLLATE "C" NOT NULL,
    organization_id TEXT COLLATE "C",
    title           TEXT NOT NULL,
    started_on      TEXT NOT NULL,
    ended_on        TEXT NOT NULL,
    current         BOOLEAN NOT NULL,
    ordinal         INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, organization_id) REFERENCES organizations (tenant_id, id)
);
--bun:split
CREATE INDEX positions_connection ON positions (tenant_id, connection_id);
--bun:split
CREATE INDEX positions_organization ON positions (tenant_id, organization_id);
--bun:split
CREATE TABLE tags (
    tenant_id   TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id          TEXT COLLATE "C" NOT NULL,
    name        TEXT NOT NULL,
    folded_name TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, folded_name)
);
--bun:split
CREATE TABLE connection_tags (
    tenant_id     TEXT COLLATE "C" NOT NULL,
    connection_id TEXT COLLATE "C" NOT NULL,
    tag_id        TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, connection_id, tag_id),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, tag_id) REFERENCES tags (tenant_id, id) ON DELETE CASCADE
);
--bun:split
CREATE INDEX connection_tags_tag ON connection_tags (tenant_id, tag_id);
--bun:split
CREATE TABLE notes (
    tenant_id  TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id         TEXT COLLATE "C" NOT NULL,
    body       TEXT NOT NULL,
    pinned     BOOLEAN NOT NULL,
    version    INTEGER NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
--bun:split
CREATE INDEX notes_created ON notes (tenant_id, created_at, id);
--bun:split
CREATE TABLE note_connections (
    tenant_id     TEXT COLLATE "C" NOT NULL,
    connection_id TEXT COLLATE "C" NOT NULL,
    note_id       TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, connection_id, note_id),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, note_id) REFERENCES notes (tenant_id, id) ON DELETE CASCADE
);
--bun:split
CREATE INDEX note_connections_note ON note_connections (tenant_id, note_id);
--bun:split
CREATE TABLE interactions (
    tenant_id        TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id               TEXT COLLATE "C" NOT NULL,
    kind             TEXT NOT NULL,
    occurred_at      TIMESTAMPTZ NOT NULL,
    duration_minutes INTEGER NOT NULL,
    summary          TEXT NOT NULL,
    external_key     TEXT COLLATE "C",
    created_at       TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, external_key)
);
--bun:split
CREATE INDEX interactions_occurred ON interactions (tenant_id, occurred_at, id);
--bun:split
CREATE TABLE interaction_connections (
    tenant_id      TEXT COLLATE "C" NOT NULL,
    connection_id  TEXT COLLATE "C" NOT NULL,
    interaction_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, connection_id, interaction_id),
    FOREIGN KEY (tenant_id, connection_id) REFERENCES connections (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, interaction_id) REFERENCES interactions (tenant_id, id) ON DELETE CASCADE
);
--bun:split
CREATE INDEX interaction_connections_interaction ON interaction_connections (tenant_id, interaction_id);
--bun:split
CREATE TABLE changes (
    tenant_id       TEXT COLLATE "C" NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    id              TEXT COLLATE "C" NOT NULL,
    credential_id   TEXT NOT NULL,
    credential_name TEXT NOT NULL,
    tool            TEXT NOT NULL,
    object_kind     TEXT NOT NULL,
    object_id       TEXT COLLATE "C" NOT NULL,
    before          TEXT NOT NULL,
    after           TEXT NOT NULL,
    created_at      TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
