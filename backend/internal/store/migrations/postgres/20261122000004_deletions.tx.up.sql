-- Who was merged into a person is looked for before the person is deleted.
CREATE INDEX connections_merged ON connections (tenant_id, merged_into) WHERE merged_into IS NOT NULL;
