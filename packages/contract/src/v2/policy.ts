import * as t from './json-api.ts'
import { action, list, read, remove, update, upload, routes } from './define.ts'

/** The two policy-as-code frameworks. */
export const POLICY_KINDS = ['native', 'opa'] as const
export type PolicyKind = (typeof POLICY_KINDS)[number]

/** Enforcement levels that each kind allows. */
export const ENFORCEMENT_LEVELS = {
  native: ['hard-mandatory', 'soft-mandatory', 'advisory'],
  opa: ['mandatory', 'advisory'],
} as const satisfies Record<PolicyKind, readonly string[]>
export type EnforcementLevel = (typeof ENFORCEMENT_LEVELS)[PolicyKind][number]

/** The levels of all kinds; the handler checks the level together with the kind. */
export const ALL_ENFORCEMENT_LEVELS = [
  'hard-mandatory',
  'soft-mandatory',
  'mandatory',
  'advisory',
] as const satisfies readonly EnforcementLevel[]

/** File name extension of a policy, by kind. */
export const POLICY_FILE_SUFFIXES = {
  native: '.native',
  opa: '.rego',
} as const satisfies Record<PolicyKind, string>

/** Allowed values of `include`. */
export const POLICY_INCLUDES = ['policy_sets'] as const
export const POLICY_SORTS = ['name', '-name', 'updated-at', '-updated-at'] as const

/** A diagnostic of the compiler for the uploaded code. */
export const PolicyDiagnostic = t.Named('PolicyDiagnostic', {
  severity: t.OneOf(['error', 'warning']),
  message: t.String(),
  line: t.Integer({ minimum: 1 }),
  column: t.Integer({ minimum: 1 }),
})
export type PolicyDiagnostic = t.Infer<typeof PolicyDiagnostic>

const PolicyAttributes = t.Object({
  name: t.Name('Unique in the organization, case ignored. Cannot be changed.'),
  description: t.Nullable(t.String({ description: 'Markdown.' })),
  kind: t.OneOf(POLICY_KINDS),
  query: t.Nullable(t.String({ description: 'Query of an `opa` policy; null for `native`.' })),
  'enforcement-level': t.OneOf(ALL_ENFORCEMENT_LEVELS),
  // Deprecated in favour of `enforcement-level`; still returned.
  enforce: t.Array(
    t.Object({
      path: t.String({ description: '`<name>.native` or `<name>.rego`.' }),
      mode: t.OneOf(ALL_ENFORCEMENT_LEVELS),
    }),
    { minItems: 1, maxItems: 1, deprecated: true },
  ),
  'policy-set-count': t.Integer({ minimum: 0 }),
  'updated-at': t.Nullable(t.Timestamp('Null before the first upload or change.')),
  // The following members are additive.
  'created-at': t.Timestamp(),
  'code-size': t.Nullable(t.Integer({ minimum: 0, description: 'Bytes; null before an upload.' })),
  'code-sha256': t.Nullable(t.String({ pattern: '^[0-9a-f]{64}$' })),
  diagnostics: t.Array(PolicyDiagnostic),
})

const PolicyRelationships = t.Object({
  organization: t.ToOne('organizations'),
  'policy-sets': t.ToMany('policy-sets'),
})

/** A policy of the governance API. The name avoids a clash with ACL policies. */
export const RunPolicy = t.ResourceOf('RunPolicy', 'policies', {
  attributes: PolicyAttributes,
  relationships: PolicyRelationships,
  links: t.Object({ self: t.PathLink(), upload: t.PathLink(), download: t.PathLink() }),
})
export type RunPolicy = t.Infer<typeof RunPolicy>

/** Response to create. It has no `links.download`, because nothing is uploaded yet. */
export const CreatedRunPolicy = t.ResourceOf('CreatedRunPolicy', 'policies', {
  attributes: PolicyAttributes,
  relationships: PolicyRelationships,
  links: t.Object({ self: t.PathLink(), upload: t.PathLink() }),
})
export type CreatedRunPolicy = t.Infer<typeof CreatedRunPolicy>

export const RunPolicyDocument = t.DocumentOf(RunPolicy)

export const CreatedRunPolicyDocument = t.DocumentOf(CreatedRunPolicy)

/** The allowed values depend on the kind. */
const GivenLevel = () =>
  t.Enum([...ALL_ENFORCEMENT_LEVELS], { type: 'string', ...t.DEPENDENT_ENUM })

const writable = {
  description: t.Optional(t.Nullable(t.String({ maxLength: t.DESCRIPTION_LENGTH_MAX }))),
  // Required for `opa` and ignored for `native`; the handler checks this rule across fields.
  query: t.Optional(t.Nullable(t.String({ maxLength: t.POLICY_QUERY_LENGTH_MAX }))),
  // Create requires either `enforcement-level` or `enforce`.
  'enforcement-level': t.Optional(GivenLevel()),
  enforce: t.Optional(
    t.Array(
      t.Object({
        path: t.Optional(t.Nullable(t.String({ maxLength: t.LINE_LENGTH_MAX }))),
        mode: GivenLevel(),
      }),
      { maxItems: t.ENFORCE_ENTRIES_MAX, deprecated: true },
    ),
  ),
}

export const RunPolicyCreateRequest = t.RequestOf('RunPolicyCreateRequest', 'policies', {
  attributes: t.Object({
    name: t.Name('Cannot be changed later.'),
    kind: t.Optional(t.OneOf(POLICY_KINDS, '`native` when omitted.')),
    ...writable,
  }),
  relationships: t.Optional(t.Object({ 'policy-sets': t.Optional(t.NewMembers('policy-sets')) })),
})
export type RunPolicyCreateRequest = t.Infer<typeof RunPolicyCreateRequest>

/** Update of a policy. Name and kind are accepted only if unchanged. */
export const RunPolicyUpdateRequest = t.UpdateRequestOf('RunPolicyUpdateRequest', 'policies', {
  name: t.String(),
  kind: t.String(),
  ...writable,
})
export type RunPolicyUpdateRequest = t.Infer<typeof RunPolicyUpdateRequest>

/** One upload of the code of a policy. The newest versions are kept. */
export const RunPolicyVersion = t.ResourceOf('RunPolicyVersion', 'policy-versions', {
  attributes: t.Object({
    'created-at': t.Timestamp(),
    'code-size': t.Integer({ minimum: 0 }),
    'code-sha256': t.String({ pattern: '^[0-9a-f]{64}$' }),
  }),
  relationships: t.Object({ policy: t.ToOne('policies'), 'created-by': t.ToOne('users') }),
  links: t.Object({ download: t.PathLink() }),
})
export type RunPolicyVersion = t.Infer<typeof RunPolicyVersion>

export const RunPolicyVersionList = t.ListOf(RunPolicyVersion)

const managers = 'Owners team, teams with Manage policies, or the organization token.'
const readers =
  'Teams with Manage policies or Read policies, owners team, or the organization token.'
const malformed = 'Malformed body: missing attributes, wrong types, or a rule is broken.'

export const policyRoutes = routes('Policies', {
  createPolicy: action('/organizations/:organization_name/policies', {
    summary: 'Create the record of a policy; its code is uploaded to `links.upload` afterwards.',
    body: RunPolicyCreateRequest,
    returns: CreatedRunPolicy,
    result: 'Created.',
    errors: { 422: malformed },
    needs: managers,
  }),
  listOrganizationPolicies: list('/organizations/:organization_name/policies', {
    summary: 'List the policies of an organization.',
    query: {
      'search[name]': t.Optional(t.String({ description: 'Part of the name, case ignored.' })),
      'filter[kind]': t.Optional(t.OneOf(POLICY_KINDS)),
      sort: t.Optional(t.OneOf(POLICY_SORTS, 'By name when omitted.')),
      ...t.includeQuery(POLICY_INCLUDES),
    },
    returns: RunPolicy,
    needs: readers,
  }),
  readPolicy: read('/policies/:policy_id', {
    summary: 'Show a policy.',
    query: t.includeQuery(POLICY_INCLUDES),
    returns: RunPolicy,
    needs: readers,
  }),
  updatePolicy: update('/policies/:policy_id', {
    summary: 'Change the record of a policy; code is changed by an upload.',
    body: RunPolicyUpdateRequest,
    returns: RunPolicy,
    errors: { 422: malformed },
    needs: managers,
  }),
  deletePolicy: remove('/policies/:policy_id', {
    summary: 'Delete a policy; it leaves all policy sets.',
    needs: managers,
  }),
  uploadPolicy: upload('/policies/:policy_id/upload', {
    summary: 'Upload the code of a policy. The bytes are kept as sent.',
    bodyBytesMax: t.POLICY_UPLOAD_BYTES_MAX,
    query: {
      validate: t.Optional(
        t.OneOf(
          ['strict'],
          'Refuse code that does not parse, instead of storing it with findings.',
        ),
      ),
    },
    body: t.BinaryBody,
    bodyType: t.BINARY_TYPE,
    returns: RunPolicy,
    result: 'Stored; `diagnostics` tells what the engine found.',
    errors: {
      413: `Larger than ${t.POLICY_UPLOAD_BYTES_MAX} bytes; nothing is saved.`,
      415: 'A multipart body; the code is sent raw.',
      422: 'Not UTF-8 text, or does not parse under `validate=strict`; nothing is saved.',
    },
    needs: managers,
  }),
  downloadPolicy: read('/policies/:policy_id/download', {
    summary: 'Download the code of a policy, byte for byte as uploaded.',
    query: {
      version: t.Optional(
        t.String({ description: 'Id of an earlier upload; the newest when omitted.' }),
      ),
    },
    answers: {
      200: {
        ...t.jsonResponse('The code; `ETag` is its SHA-256.', t.BinaryBody),
        contentType: t.BINARY_TYPE,
      },
      304: t.emptyResponse('`If-None-Match` names the current `ETag`.'),
    },
    errors: { 404: 'Policy not found, not authorized, or nothing was uploaded yet.' },
    needs: readers,
  }),
  listPolicyVersions: read('/policies/:policy_id/versions', {
    summary: 'List the kept uploads of a policy, newest first.',
    query: t.fieldsQuery('policy-versions'),
    returns: RunPolicyVersionList,
    result: 'All kept uploads.',
    needs: readers,
  }),
})
