-- The role that works with the rows and owns nothing. Made where this user may make roles, used where it is there.
DO $$
BEGIN
    BEGIN
        CREATE ROLE goop_app NOLOGIN;
    EXCEPTION WHEN duplicate_object OR unique_violation OR insufficient_privilege THEN
        NULL;
    END;
    BEGIN
        -- A user that made the role may still have to be let into it.
        EXECUTE format('GRANT goop_app TO %I', current_user);
    EXCEPTION WHEN undefined_object OR insufficient_privilege OR invalid_grant_operation THEN
        NULL;
    END;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'goop_app' AND NOT rolsuper AND NOT rolbypassrls) THEN
        GRANT USAGE ON SCHEMA goop TO goop_app;
        GRANT SELECT ON goop.versions TO goop_app;
        GRANT SELECT, INSERT, UPDATE, DELETE
            ON goop.meta, goop.memories, goop.reports, goop.events, goop.projections TO goop_app;
    END IF;
END $$;
