import { Type } from 'typebox'
import { routes } from '../route.ts'
import { action, list, read, remove, update, upload } from './define.ts'
import { Named, Nullable, Timestamp, type Infer } from '../schema.ts'
import { jsonResponse, emptyResponse } from './answers.ts'
import {
  DocumentOf,
  ListOf,
  NewMembers,
  BINARY_TYPE,
  BinaryBody,
  OneOf,
  PageOf,
  PathLink,
  RequestOf,
  ResourceOf,
  ToMany,
  ToOne,
} from './json-api.ts'
import {
  DESCRIPTION_LENGTH_MAX,
  ENFORCE_ENTRIES_MAX,
  LINE_LENGTH_MAX,
  POLICY_QUERY_LENGTH_MAX,
  POLICY_UPLOAD_BYTES_MAX,
} from './limits.ts'
import { Name, DEPENDENT_ENUM } from './patterns.ts'
import { fieldsQuery, includeQuery } from './query.ts'

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
export const PolicyDiagnostic = Named('PolicyDiagnostic', {
  severity: OneOf(['error', 'warning']),
  message: Type.String(),
  line: Type.Integer({ minimum: 1 }),
  column: Type.Integer({ minimum: 1 }),
})
export type PolicyDiagnostic = Infer<typeof PolicyDiagnostic>

const PolicyAttributes = Type.Object({
  name: Name('Unique in the organization, case ignored. Cannot be changed.'),
  description: Nullable(Type.String({ description: 'Markdown.' })),
  kind: OneOf(POLICY_KINDS),
  query: Nullable(Type.String({ description: 'Query of an `opa` policy; null for `native`.' })),
  'enforcement-level': OneOf(ALL_ENFORCEMENT_LEVELS),
  // Deprecated in favour of `enforcement-level`; still returned.
  enforce: Type.Array(
    Type.Object({
      path: Type.String({ description: '`<name>.native` or `<name>.rego`.' }),
      mode: OneOf(ALL_ENFORCEMENT_LEVELS),
    }),
    { minItems: 1, maxItems: 1, deprecated: true },
  ),
  'policy-set-count': Type.Integer({ minimum: 0 }),
  'updated-at': Nullable(Timestamp('Null before the first upload or change.')),
  // The following members are additive.
  'created-at': Timestamp(),
  'code-size': Nullable(Type.Integer({ minimum: 0, description: 'Bytes; null before an upload.' })),
  'code-sha256': Nullable(Type.String({ pattern: '^[0-9a-f]{64}$' })),
  diagnostics: Type.Array(PolicyDiagnostic),
})

const PolicyRelationships = Type.Object({
  organization: ToOne('organizations'),
  'policy-sets': ToMany('policy-sets'),
})

/** A policy of the governance API. The name avoids a clash with ACL policies. */
export const RunPolicy = ResourceOf('RunPolicy', 'policies', {
  attributes: PolicyAttributes,
  relationships: PolicyRelationships,
  links: Type.Object({ self: PathLink(), upload: PathLink(), download: PathLink() }),
})
export type RunPolicy = Infer<typeof RunPolicy>

/** Response to create. It has no `links.download`, because nothing is uploaded yet. */
export const CreatedRunPolicy = ResourceOf('CreatedRunPolicy', 'policies', {
  attributes: PolicyAttributes,
  relationships: PolicyRelationships,
  links: Type.Object({ self: PathLink(), upload: PathLink() }),
})
export type CreatedRunPolicy = Infer<typeof CreatedRunPolicy>

export const RunPolicyDocument = DocumentOf(RunPolicy)

export const CreatedRunPolicyDocument = DocumentOf(CreatedRunPolicy)

export const RunPolicyPage = PageOf(RunPolicy)

/** The allowed values depend on the kind. */
const GivenLevel = () =>
  Type.Enum([...ALL_ENFORCEMENT_LEVELS], { type: 'string', ...DEPENDENT_ENUM })

const writable = {
  description: Type.Optional(Nullable(Type.String({ maxLength: DESCRIPTION_LENGTH_MAX }))),
  // Required for `opa` and ignored for `native`; the handler checks this rule across fields.
  query: Type.Optional(Nullable(Type.String({ maxLength: POLICY_QUERY_LENGTH_MAX }))),
  // Create requires either `enforcement-level` or `enforce`.
  'enforcement-level': Type.Optional(GivenLevel()),
  enforce: Type.Optional(
    Type.Array(
      Type.Object({
        path: Type.Optional(Nullable(Type.String({ maxLength: LINE_LENGTH_MAX }))),
        mode: GivenLevel(),
      }),
      { maxItems: ENFORCE_ENTRIES_MAX, deprecated: true },
    ),
  ),
}

export const RunPolicyCreateRequest = RequestOf('RunPolicyCreateRequest', 'policies', {
  attributes: Type.Object({
    name: Name('Cannot be changed later.'),
    kind: Type.Optional(OneOf(POLICY_KINDS, '`native` when omitted.')),
    ...writable,
  }),
  relationships: Type.Optional(
    Type.Object({ 'policy-sets': Type.Optional(NewMembers('policy-sets')) }),
  ),
})
export type RunPolicyCreateRequest = Infer<typeof RunPolicyCreateRequest>

/** Update of a policy. Name and kind are accepted only if unchanged. */
export const RunPolicyUpdateRequest = RequestOf('RunPolicyUpdateRequest', 'policies', {
  attributes: Type.Optional(
    Type.Object({
      name: Type.Optional(Type.String()),
      kind: Type.Optional(Type.String()),
      ...writable,
    }),
  ),
})
export type RunPolicyUpdateRequest = Infer<typeof RunPolicyUpdateRequest>

/** One upload of the code of a policy. The newest versions are kept. */
export const RunPolicyVersion = ResourceOf('RunPolicyVersion', 'policy-versions', {
  attributes: Type.Object({
    'created-at': Timestamp(),
    'code-size': Type.Integer({ minimum: 0 }),
    'code-sha256': Type.String({ pattern: '^[0-9a-f]{64}$' }),
  }),
  relationships: Type.Object({ policy: ToOne('policies'), 'created-by': ToOne('users') }),
  links: Type.Object({ download: PathLink() }),
})
export type RunPolicyVersion = Infer<typeof RunPolicyVersion>

export const RunPolicyVersionList = ListOf(RunPolicyVersion)

const managers = 'Owners team, teams with Manage policies, or the organization token.'
const readers =
  'Teams with Manage policies or Read policies, owners team, or the organization token.'
const malformed = 'Malformed body: missing attributes, wrong types, or a rule is broken.'

export const policyRoutes = routes('Policies', {
  createPolicy: action('/organizations/:organization_name/policies', {
    summary: 'Create the record of a policy; its code is uploaded to `links.upload` afterwards.',
    body: RunPolicyCreateRequest,
    returns: CreatedRunPolicyDocument,
    result: 'Created.',
    errors: { 422: malformed },
    needs: managers,
  }),
  listOrganizationPolicies: list('/organizations/:organization_name/policies', {
    summary: 'List the policies of an organization.',
    query: {
      'search[name]': Type.Optional(
        Type.String({ description: 'Part of the name, case ignored.' }),
      ),
      'filter[kind]': Type.Optional(OneOf(POLICY_KINDS)),
      sort: Type.Optional(OneOf(POLICY_SORTS, 'By name when omitted.')),
      ...includeQuery(POLICY_INCLUDES),
      ...fieldsQuery('policies'),
    },
    returns: RunPolicyPage,
    needs: readers,
  }),
  readPolicy: read('/policies/:policy_id', {
    summary: 'Show a policy.',
    query: { ...includeQuery(POLICY_INCLUDES), ...fieldsQuery('policies') },
    returns: RunPolicyDocument,
    needs: readers,
  }),
  updatePolicy: update('/policies/:policy_id', {
    summary: 'Change the record of a policy; code is changed by an upload.',
    body: RunPolicyUpdateRequest,
    returns: RunPolicyDocument,
    errors: { 422: malformed },
    needs: managers,
  }),
  deletePolicy: remove('/policies/:policy_id', {
    summary: 'Delete a policy; it leaves all policy sets.',
    needs: managers,
  }),
  uploadPolicy: upload('/policies/:policy_id/upload', {
    summary: 'Upload the code of a policy. The bytes are kept as sent.',
    bodyBytesMax: POLICY_UPLOAD_BYTES_MAX,
    query: {
      validate: Type.Optional(
        OneOf(['strict'], 'Refuse code that does not parse, instead of storing it with findings.'),
      ),
    },
    body: BinaryBody,
    bodyType: BINARY_TYPE,
    returns: RunPolicyDocument,
    result: 'Stored; `diagnostics` tells what the engine found.',
    errors: {
      413: `Larger than ${POLICY_UPLOAD_BYTES_MAX} bytes; nothing is saved.`,
      415: 'A multipart body; the code is sent raw.',
      422: 'Not UTF-8 text, or does not parse under `validate=strict`; nothing is saved.',
    },
    needs: managers,
  }),
  downloadPolicy: read('/policies/:policy_id/download', {
    summary: 'Download the code of a policy, byte for byte as uploaded.',
    query: {
      version: Type.Optional(
        Type.String({ description: 'Id of an earlier upload; the newest when omitted.' }),
      ),
    },
    answers: {
      200: {
        ...jsonResponse('The code; `ETag` is its SHA-256.', BinaryBody),
        contentType: BINARY_TYPE,
      },
      304: emptyResponse('`If-None-Match` names the current `ETag`.'),
    },
    errors: { 404: 'Policy not found, not authorized, or nothing was uploaded yet.' },
    needs: readers,
  }),
  listPolicyVersions: read('/policies/:policy_id/versions', {
    summary: 'List the kept uploads of a policy, newest first.',
    query: fieldsQuery('policy-versions'),
    returns: RunPolicyVersionList,
    result: 'All kept uploads.',
    needs: readers,
  }),
})
