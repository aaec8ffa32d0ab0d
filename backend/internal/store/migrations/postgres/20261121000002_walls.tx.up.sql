-- Two roles stand between a bug and another member's data.
--
-- kith_tenant reaches the rows of the tenant named by app.tenant_id and nothing
-- else: no setting, no row. kith_service reads and writes across tenants
-- (credentials, public profiles, the demo account, later the sweeps). Neither
-- can log in; the process takes them on after connecting. A user who may not make
-- roles finds them made and granted.
DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'kith_tenant') THEN CREATE ROLE kith_tenant NOLOGIN; END IF; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
--bun:split
DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'kith_service') THEN CREATE ROLE kith_service NOLOGIN; END IF; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
--bun:split
DO $$ BEGIN
    IF NOT pg_has_role(current_user, 'kith_tenant', 'MEMBER') THEN GRANT kith_tenant TO CURRENT_USER; END IF;
    IF NOT pg_has_role(current_user, 'kith_service', 'MEMBER') THEN GRANT kith_service TO CURRENT_USER; END IF;
END $$;
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON members, tenant_states, profiles, personal_tokens, sandbox_states TO kith_service;
--bun:split
GRANT SELECT, UPDATE (data_version) ON tenant_states TO kith_tenant;
--bun:split
ALTER TABLE tenant_states ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE tenant_states FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON tenant_states TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON tenant_states TO kith_service USING (true);
--bun:split
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
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON connections TO kith_tenant, kith_service;
--bun:split
ALTER TABLE connections ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE connections FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON connections TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON connections TO kith_service USING (true);
--bun:split
CREATE TRIGGER connections_read_only BEFORE INSERT OR UPDATE OR DELETE ON connections
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON handles TO kith_tenant, kith_service;
--bun:split
ALTER TABLE handles ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE handles FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON handles TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON handles TO kith_service USING (true);
--bun:split
CREATE TRIGGER handles_read_only BEFORE INSERT OR UPDATE OR DELETE ON handles
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON organizations TO kith_tenant, kith_service;
--bun:split
ALTER TABLE organizations ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE organizations FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON organizations TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON organizations TO kith_service USING (true);
--bun:split
CREATE TRIGGER organizations_read_only BEFORE INSERT OR UPDATE OR DELETE ON organizations
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON positions TO kith_tenant, kith_service;
--bun:split
ALTER TABLE positions ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE positions FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON positions TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON positions TO kith_service USING (true);
--bun:split
CREATE TRIGGER positions_read_only BEFORE INSERT OR UPDATE OR DELETE ON positions
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON tags TO kith_tenant, kith_service;
--bun:split
ALTER TABLE tags ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE tags FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON tags TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON tags TO kith_service USING (true);
--bun:split
CREATE TRIGGER tags_read_only BEFORE INSERT OR UPDATE OR DELETE ON tags
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON connection_tags TO kith_tenant, kith_service;
--bun:split
ALTER TABLE connection_tags ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE connection_tags FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON connection_tags TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON connection_tags TO kith_service USING (true);
--bun:split
CREATE TRIGGER connection_tags_read_only BEFORE INSERT OR UPDATE OR DELETE ON connection_tags
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON notes TO kith_tenant, kith_service;
--bun:split
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE notes FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON notes TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON notes TO kith_service USING (true);
--bun:split
CREATE TRIGGER notes_read_only BEFORE INSERT OR UPDATE OR DELETE ON notes
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON note_connections TO kith_tenant, kith_service;
--bun:split
ALTER TABLE note_connections ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE note_connections FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON note_connections TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON note_connections TO kith_service USING (true);
--bun:split
CREATE TRIGGER note_connections_read_only BEFORE INSERT OR UPDATE OR DELETE ON note_connections
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON interactions TO kith_tenant, kith_service;
--bun:split
ALTER TABLE interactions ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE interactions FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON interactions TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON interactions TO kith_service USING (true);
--bun:split
CREATE TRIGGER interactions_read_only BEFORE INSERT OR UPDATE OR DELETE ON interactions
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON interaction_connections TO kith_tenant, kith_service;
--bun:split
ALTER TABLE interaction_connections ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE interaction_connections FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON interaction_connections TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON interaction_connections TO kith_service USING (true);
--bun:split
CREATE TRIGGER interaction_connections_read_only BEFORE INSERT OR UPDATE OR DELETE ON interaction_connections
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
--bun:split
GRANT SELECT, INSERT, UPDATE, DELETE ON changes TO kith_tenant, kith_service;
--bun:split
ALTER TABLE changes ENABLE ROW LEVEL SECURITY;
--bun:split
ALTER TABLE changes FORCE ROW LEVEL SECURITY;
--bun:split
CREATE POLICY tenant ON changes TO kith_tenant
    USING (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
--bun:split
CREATE POLICY service ON changes TO kith_service USING (true);
--bun:split
CREATE TRIGGER changes_read_only BEFORE INSERT OR UPDATE OR DELETE ON changes
    FOR EACH ROW EXECUTE FUNCTION kith_refuse_read_only();
