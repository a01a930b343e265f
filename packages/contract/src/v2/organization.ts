import { Type } from 'typebox'
import { routes } from '../route.ts'
import { create, list, read, remove, update } from './define.ts'
import { Nullable, Timestamp, type Infer } from '../schema.ts'
import {
  DocumentOf,
  Flags,
  LinkedOnly,
  OneOf,
  PageOnRequestOf,
  RequestOf,
  ResourceOf,
  SelfLink,
  ToOneLinked,
  ToOneOrNone,
  ResourceWithId,
} from './json-api.ts'
import { Email, OrganizationName, PrefixedId } from './patterns.ts'
import { fieldsQuery, includeQuery } from './query.ts'

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

const minutes = Nullable(Type.Integer({ minimum: 1, description: 'Minutes; null: no limit.' }))

/** The JSON:API id of an organization is its name; `external-id` survives a rename. */
export const Organization = ResourceWithId('Organization', 'organizations', {
  id: OrganizationName(),
  attributes: Type.Object({
    name: OrganizationName(),
    'external-id': PrefixedId('entitlement-sets'),
    email: Email(),
    'created-at': Timestamp(),
    'allow-force-delete-workspaces': Type.Boolean(),
    'default-execution-mode': OneOf(EXECUTION_MODES),
    'user-tokens-enabled': Type.Boolean(),
    'require-override-comment': Type.Boolean(),
    'session-timeout': minutes,
    'session-remember': minutes,
    'collaborator-auth-policy': OneOf(COLLABORATOR_AUTH_POLICIES),
    permissions: Flags(ORGANIZATION_PERMISSIONS),
  }),
  relationships: Type.Object({
    'default-project': ToOneLinked('projects'),
    'authentication-token': LinkedOnly(),
    'entitlement-set': ToOneLinked('entitlement-sets'),
  }),
  links: SelfLink(),
})
export type Organization = Infer<typeof Organization>

const limit = Nullable(Type.Integer({ minimum: 0, description: 'Null: no limit.' }))

/** Features available to an organization. The id is the organization's `external-id`. */
export const EntitlementSet = ResourceOf('EntitlementSet', 'entitlement-sets', {
  attributes: Type.Object({
    ...Flags(ENTITLEMENTS).properties,
    'policy-limit': limit,
    'policy-set-limit': limit,
    'policy-mandatory-enforcement-limit': limit,
    'versioned-policy-set-limit': limit,
    'user-limit': limit,
  }),
  links: SelfLink(),
})
export type EntitlementSet = Infer<typeof EntitlementSet>

export const OrganizationDocument = DocumentOf(Organization)

export const OrganizationPage = PageOnRequestOf(Organization)
export type OrganizationPage = Infer<typeof OrganizationPage>

export const EntitlementSetDocument = DocumentOf(EntitlementSet)

const settings = {
  'allow-force-delete-workspaces': Type.Optional(Type.Boolean()),
  'default-execution-mode': Type.Optional(OneOf(EXECUTION_MODES)),
  'user-tokens-enabled': Type.Optional(Type.Boolean()),
  'require-override-comment': Type.Optional(Type.Boolean()),
  'session-timeout': Type.Optional(minutes),
  'session-remember': Type.Optional(minutes),
  'collaborator-auth-policy': Type.Optional(OneOf(COLLABORATOR_AUTH_POLICIES)),
}

/**
 * Agent pools are not supported: a pool that is not null is rejected with the message clients
 * expect.
 */
const relationships = Type.Optional(
  Type.Object({ 'default-agent-pool': Type.Optional(ToOneOrNone('agent-pools')) }),
)

export const OrganizationCreateRequest = RequestOf('OrganizationCreateRequest', 'organizations', {
  attributes: Type.Object({ name: OrganizationName(), email: Email(), ...settings }),
  relationships,
})
export type OrganizationCreateRequest = Infer<typeof OrganizationCreateRequest>

export const OrganizationUpdateRequest = RequestOf('OrganizationUpdateRequest', 'organizations', {
  attributes: Type.Optional(
    Type.Object({
      name: Type.Optional(OrganizationName()),
      email: Type.Optional(Email()),
      ...settings,
    }),
  ),
  relationships,
})
export type OrganizationUpdateRequest = Infer<typeof OrganizationUpdateRequest>

const owners = 'Owners team, or the organization token.'
const brokenRule = 'A rule on an attribute is broken, or the name is taken.'

export const organizationRoutes = routes('Organizations', {
  listOrganizations: list('/organizations', {
    summary: 'List the organizations of the caller; in pages only when a page is asked for.',
    query: {
      q: Type.Optional(
        Type.String({ description: 'Part of name or email; the other two are ignored then.' }),
      ),
      'q[name]': Type.Optional(Type.String({ description: 'Part of the name, case ignored.' })),
      'q[email]': Type.Optional(Type.String({ description: 'Part of the email, case ignored.' })),
      ...includeQuery(ORGANIZATION_INCLUDES),
      ...fieldsQuery('organizations'),
    },
    returns: OrganizationPage,
    needs: 'Any valid token.',
  }),
  createOrganization: create('/organizations', {
    summary: 'Create an organization with its owners team, default project and entitlement set.',
    body: OrganizationCreateRequest,
    returns: OrganizationDocument,
    result: 'Created; `included` holds the entitlement set.',
    errors: { 404: 'The caller may not create organizations.', 422: brokenRule },
    needs: 'A user token that may create organizations, or the site administrator.',
  }),
  readOrganization: read('/organizations/:organization_name', {
    summary: 'Show an organization.',
    query: { ...includeQuery(ORGANIZATION_INCLUDES), ...fieldsQuery('organizations') },
    returns: OrganizationDocument,
    needs: 'Any member of the organization.',
  }),
  updateOrganization: update('/organizations/:organization_name', {
    summary: 'Change an organization. A new name changes its id and all its paths.',
    body: OrganizationUpdateRequest,
    returns: OrganizationDocument,
    errors: { 422: brokenRule },
    needs: owners,
  }),
  deleteOrganization: remove('/organizations/:organization_name', {
    summary: 'Delete an organization with everything in it.',
    needs: 'Owners team.',
  }),
  readEntitlementSet: read('/organizations/:organization_name/entitlement-set', {
    summary: 'Show what an organization may use.',
    query: fieldsQuery('entitlement-sets'),
    returns: EntitlementSetDocument,
    needs: 'Any member of the organization.',
  }),
})
