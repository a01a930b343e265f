import * as t from './json-api.ts'
import { create, list, read, remove, update, routes } from './define.ts'

/**
 * Execution modes. Kept for clients that send and compare the value; it does not change where runs
 * execute.
 */
export const EXECUTION_MODES = ['remote', 'local', 'agent'] as const

export const COLLABORATOR_AUTH_POLICIES = ['password', 'two_factor_mandatory'] as const

export const ORGANIZATION_PERMISSIONS = [
  'can-update',
  'can-destroy',
  'can-traverse',
  'can-create-team',
  'can-create-workspace',
  'can-create-project',
  'can-manage-users',
  'can-manage-tags',
  'can-read-policies',
  'can-update-policies',
  'can-update-api-token',
] as const

/** Features that the configuration may disable; the endpoints of a disabled feature return 404. */
export const ENTITLEMENTS = [
  'operations',
  'teams',
  'policy-enforcement',
  'state-storage',
  'audit-logging',
  'private-policy-agents',
] as const

export const ORGANIZATION_INCLUDES = ['entitlement_set', 'default_project'] as const

const minutes = t.Nullable(t.Integer({ minimum: 1, description: 'Minutes; null: no limit.' }))

/** The JSON:API id of an organization is its name; `external-id` survives a rename. */
export const Organization = t.ResourceWithId('Organization', 'organizations', {
  id: t.OrganizationName(),
  attributes: t.Object({
    name: t.OrganizationName(),
    'external-id': t.PrefixedId('entitlement-sets'),
    email: t.Email(),
    'created-at': t.Timestamp(),
    'allow-force-delete-workspaces': t.Boolean(),
    'default-execution-mode': t.OneOf(EXECUTION_MODES),
    'user-tokens-enabled': t.Boolean(),
    'require-override-comment': t.Boolean(),
    'session-timeout': minutes,
    'session-remember': minutes,
    'collaborator-auth-policy': t.OneOf(COLLABORATOR_AUTH_POLICIES),
    permissions: t.Flags(ORGANIZATION_PERMISSIONS),
  }),
  relationships: t.Object({
    'default-project': t.ToOneLinked('projects'),
    'authentication-token': t.LinkedOnly(),
    'entitlement-set': t.ToOneLinked('entitlement-sets'),
  }),
  links: t.SelfLink(),
})
export type Organization = t.Infer<typeof Organization>

const limit = t.Nullable(t.Integer({ minimum: 0, description: 'Null: no limit.' }))

/** Features available to an organization. The id is the organization's `external-id`. */
export const EntitlementSet = t.ResourceOf('EntitlementSet', 'entitlement-sets', {
  attributes: t.Object({
    ...t.Flags(ENTITLEMENTS).properties,
    'policy-limit': limit,
    'policy-set-limit': limit,
    'policy-mandatory-enforcement-limit': limit,
    'versioned-policy-set-limit': limit,
    'user-limit': limit,
  }),
  links: t.SelfLink(),
})
export type EntitlementSet = t.Infer<typeof EntitlementSet>

export const OrganizationPage = t.PageOnRequestOf(Organization)

const settings = {
  'allow-force-delete-workspaces': t.Optional(t.Boolean()),
  'default-execution-mode': t.Optional(t.OneOf(EXECUTION_MODES)),
  'user-tokens-enabled': t.Optional(t.Boolean()),
  'require-override-comment': t.Optional(t.Boolean()),
  'session-timeout': t.Optional(minutes),
  'session-remember': t.Optional(minutes),
  'collaborator-auth-policy': t.Optional(t.OneOf(COLLABORATOR_AUTH_POLICIES)),
}

/**
 * Agent pools are not supported: a pool that is not null is rejected with the message clients
 * expect.
 */
const relationships = t.Optional(
  t.Object({ 'default-agent-pool': t.Optional(t.ToOneOrNone('agent-pools')) }),
)

export const OrganizationCreateRequest = t.RequestOf('OrganizationCreateRequest', 'organizations', {
  attributes: t.Object({ name: t.OrganizationName(), email: t.Email(), ...settings }),
  relationships,
})
export type OrganizationCreateRequest = t.Infer<typeof OrganizationCreateRequest>

export const OrganizationUpdateRequest = t.RequestOf('OrganizationUpdateRequest', 'organizations', {
  attributes: t.Optional(
    t.Object({ name: t.Optional(t.OrganizationName()), email: t.Optional(t.Email()), ...settings }),
  ),
  relationships,
})
export type OrganizationUpdateRequest = t.Infer<typeof OrganizationUpdateRequest>

const owners = 'Owners team, or the organization token.'
const brokenRule = 'A rule on an attribute is broken, or the name is taken.'

export const organizationRoutes = routes('Organizations', {
  listOrganizations: list('/organizations', {
    summary: 'List the organizations of the caller; in pages only when a page is asked for.',
    query: {
      q: t.Optional(
        t.String({ description: 'Part of name or email; the other two are ignored then.' }),
      ),
      'q[name]': t.Optional(t.String({ description: 'Part of the name, case ignored.' })),
      'q[email]': t.Optional(t.String({ description: 'Part of the email, case ignored.' })),
      ...t.includeQuery(ORGANIZATION_INCLUDES),
      ...t.fieldsQuery('organizations'),
    },
    returns: OrganizationPage,
    needs: 'Any valid token.',
  }),
  createOrganization: create('/organizations', {
    summary: 'Create an organization with its owners team, default project and entitlement set.',
    body: OrganizationCreateRequest,
    returns: Organization,
    result: 'Created; `included` holds the entitlement set.',
    errors: { 404: 'The caller may not create organizations.', 422: brokenRule },
    needs: 'A user token that may create organizations, or the site administrator.',
  }),
  readOrganization: read('/organizations/:organization_name', {
    summary: 'Show an organization.',
    query: t.includeQuery(ORGANIZATION_INCLUDES),
    returns: Organization,
    needs: 'Any member of the organization.',
  }),
  updateOrganization: update('/organizations/:organization_name', {
    summary: 'Change an organization. A new name changes its id and all its paths.',
    body: OrganizationUpdateRequest,
    returns: Organization,
    errors: { 422: brokenRule },
    needs: owners,
  }),
  deleteOrganization: remove('/organizations/:organization_name', {
    summary: 'Delete an organization with everything in it.',
    needs: 'Owners team.',
  }),
  readEntitlementSet: read('/organizations/:organization_name/entitlement-set', {
    summary: 'Show what an organization may use.',
    returns: EntitlementSet,
    needs: 'Any member of the organization.',
  }),
})
