import { Type } from 'typebox'
import { routes } from '../route.ts'
import { create, list, read, remove, update } from './define.ts'
import { Named, Nullable, Timestamp, type Infer } from '../schema.ts'
import {
  DocumentOf,
  NewMembers,
  OneOf,
  PageOf,
  RequestOf,
  ResourceOf,
  SelfLink,
  ToMany,
  ToOne,
  ToOneOrNone,
} from './json-api.ts'
import {
  DESCRIPTION_LENGTH_MAX,
  LINE_LENGTH_MAX,
  TAG_SELECTORS_MAX,
  UPDATE_PATTERNS_MAX,
} from './limits.ts'
import { Name, TagKey, TagValue } from './patterns.ts'
import { POLICY_KINDS } from './policy.ts'
import { fieldsQuery, includeQuery } from './query.ts'

export const POLICY_SET_SCOPINGS = ['explicit', 'tag'] as const
export const POLICY_SET_INCLUDES = [
  'policies',
  'workspaces',
  'projects',
  'workspace_exclusions',
  'project_exclusions',
  'current_version',
  'newest_version',
] as const

/** Selector that includes or excludes workspaces with a tag. */
export const TagSelector = Named('TagSelector', {
  'tag-key': TagKey(),
  'tag-value': Nullable(TagValue()),
  'is-exclude': Type.Boolean(),
})
export type TagSelector = Infer<typeof TagSelector>

export const PolicySet = ResourceOf('PolicySet', 'policy-sets', {
  attributes: Type.Object({
    name: Name('Unique in the organization, case ignored.'),
    description: Nullable(Type.String()),
    global: Type.Boolean(),
    kind: OneOf(POLICY_KINDS),
    // Null for a `native` set that is not evaluated by an agent, where it has no effect.
    overridable: Nullable(Type.Boolean()),
    'agent-enabled': Type.Boolean(),
    'policy-tool-version': Nullable(Type.String()),
    'policy-count': Type.Integer({ minimum: 0 }),
    'workspace-count': Type.Integer({ minimum: 0 }),
    'project-count': Type.Integer({ minimum: 0 }),
    versioned: Type.Boolean(),
    'policies-path': Nullable(Type.String()),
    'policy-update-patterns': Type.Array(Type.String()),
    'tag-selectors': Type.Array(TagSelector),
    'scoping-type': OneOf(POLICY_SET_SCOPINGS),
    'created-at': Timestamp(),
    'updated-at': Timestamp(),
  }),
  relationships: Type.Object({
    organization: ToOne('organizations'),
    policies: ToMany('policies'),
    // A global set has no attachments, so its documents omit these three.
    workspaces: Type.Optional(ToMany('workspaces')),
    projects: Type.Optional(ToMany('projects')),
    namespaces: Type.Optional(ToMany('namespaces')),
    'workspace-exclusions': ToMany('workspaces'),
    'project-exclusions': ToMany('projects'),
    'current-version': ToOneOrNone('policy-set-versions'),
    'newest-version': ToOneOrNone('policy-set-versions'),
  }),
  links: SelfLink(),
})
export type PolicySet = Infer<typeof PolicySet>

export const PolicySetDocument = DocumentOf(PolicySet)
export type PolicySetDocument = Infer<typeof PolicySetDocument>

export const PolicySetPage = PageOf(PolicySet)
export type PolicySetPage = Infer<typeof PolicySetPage>

/** Members of a new tag selector; by default `is-exclude` is false and `tag-value` null. */
export const NewTagSelector = Named('NewTagSelector', {
  'tag-key': TagKey(),
  'tag-value': Type.Optional(Nullable(TagValue())),
  'is-exclude': Type.Optional(Type.Boolean()),
})
export type NewTagSelector = Infer<typeof NewTagSelector>

const writable = {
  description: Type.Optional(Nullable(Type.String({ maxLength: DESCRIPTION_LENGTH_MAX }))),
  global: Type.Optional(Type.Boolean()),
  overridable: Type.Optional(Nullable(Type.Boolean())),
  'agent-enabled': Type.Optional(Type.Boolean()),
  'policy-tool-version': Type.Optional(Nullable(Type.String({ maxLength: LINE_LENGTH_MAX }))),
  'policies-path': Type.Optional(Nullable(Type.String({ maxLength: LINE_LENGTH_MAX }))),
  'policy-update-patterns': Type.Optional(
    Type.Array(Type.String({ maxLength: LINE_LENGTH_MAX }), { maxItems: UPDATE_PATTERNS_MAX }),
  ),
  'tag-selectors': Type.Optional(Type.Array(NewTagSelector, { maxItems: TAG_SELECTORS_MAX })),
}

const attachments = {
  projects: Type.Optional(NewMembers('projects')),
  workspaces: Type.Optional(NewMembers('workspaces')),
  // Namespaces of the workload API whose job submissions the set applies to, by name. Specific to
  // this product.
  namespaces: Type.Optional(NewMembers('namespaces')),
  'workspace-exclusions': Type.Optional(NewMembers('workspaces')),
  'project-exclusions': Type.Optional(NewMembers('projects')),
  policies: Type.Optional(NewMembers('policies')),
}

export const PolicySetCreateRequest = RequestOf('PolicySetCreateRequest', 'policy-sets', {
  attributes: Type.Object({
    name: Name('Unique in the organization.'),
    kind: Type.Optional(OneOf(POLICY_KINDS, '`native` when omitted; cannot be changed.')),
    ...writable,
  }),
  relationships: Type.Optional(Type.Object(attachments)),
})
export type PolicySetCreateRequest = Infer<typeof PolicySetCreateRequest>

/**
 * Update of a policy set. Each relationship that is present is replaced as a whole; `[]` clears
 * it.
 */
export const PolicySetUpdateRequest = RequestOf('PolicySetUpdateRequest', 'policy-sets', {
  attributes: Type.Optional(
    Type.Object({
      name: Type.Optional(Name('Unique in the organization.')),
      // Accepted only if unchanged.
      kind: Type.Optional(Type.String()),
      ...writable,
    }),
  ),
  relationships: Type.Optional(Type.Object(attachments)),
})
export type PolicySetUpdateRequest = Infer<typeof PolicySetUpdateRequest>

const managers = 'Owners team, teams with Manage policies, or the organization token.'
const readers =
  'Teams with Manage policies or Read policies, owners team, or the organization token.'
const brokenRule =
  'A rule on an attribute is broken, the name is taken, or a related resource does not fit.'

export const policySetRoutes = routes('Policy sets', {
  listPolicySets: list('/organizations/:organization_name/policy-sets', {
    summary: 'List the policy sets of an organization, oldest first.',
    query: {
      'search[name]': Type.Optional(
        Type.String({ description: 'Part of the name, case ignored.' }),
      ),
      'filter[kind]': Type.Optional(OneOf(POLICY_KINDS)),
      'filter[versioned]': Type.Optional(Type.Boolean()),
      ...includeQuery(POLICY_SET_INCLUDES),
      ...fieldsQuery('policy-sets'),
    },
    returns: PolicySetPage,
    needs: readers,
  }),
  createPolicySet: create('/organizations/:organization_name/policy-sets', {
    summary: 'Create a policy set, with its policies and where it applies.',
    body: PolicySetCreateRequest,
    returns: PolicySetDocument,
    errors: { 422: brokenRule },
    needs: managers,
  }),
  readPolicySet: read('/policy-sets/:policy_set_id', {
    summary: 'Show a policy set.',
    query: { ...includeQuery(POLICY_SET_INCLUDES), ...fieldsQuery('policy-sets') },
    returns: PolicySetDocument,
    needs: readers,
  }),
  updatePolicySet: update('/policy-sets/:policy_set_id', {
    summary: 'Change a policy set. Turning `global` on drops its attachments.',
    body: PolicySetUpdateRequest,
    returns: PolicySetDocument,
    errors: { 422: brokenRule },
    needs: managers,
  }),
  deletePolicySet: remove('/policy-sets/:policy_set_id', {
    summary: 'Delete a policy set; its policies stay.',
    needs: managers,
  }),
})
