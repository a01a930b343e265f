import { Type } from 'typebox'
import { route } from '../route.ts'
import { Index, Nullable, type Input, type Shape } from '../shape.ts'
import { denied, done, ok, refused, WRITE } from './answer.ts'
import { Base64 } from './identifier.ts'
import { blocking, BlockingQuery, common, prefix, WriteQuery } from './query.ts'

export const JobAcl = Type.Object(
  {
    Namespace: Type.String(),
    JobID: Type.String(),
    Group: Type.String(),
    Task: Type.String(),
  },
  { $id: 'JobAcl', description: 'The workload whose identity the policy is attached to.' },
)
export type JobAcl = Shape<typeof JobAcl>

const stubFields = {
  Name: Type.String(),
  Description: Type.String(),
  JobACL: Nullable(JobAcl),
  Hash: Base64(),
  CreateIndex: Index(),
  ModifyIndex: Index(),
}

export const AclPolicyStub = Type.Object(stubFields, {
  $id: 'AclPolicyStub',
  description: 'An access policy in a list.',
})
export type AclPolicyStub = Shape<typeof AclPolicyStub>

const PathRule = Type.Object({ PathSpec: Type.String(), Capabilities: Type.Array(Type.String()) })
const named = {
  Name: Type.String({ description: 'A name, or a pattern with `*`.' }),
  Policy: Type.String(),
  Capabilities: Type.Array(Type.String(), { description: 'With those of `Policy`.' }),
}
const NamedRule = Type.Object(named)
const BareRule = Type.Object({ Policy: Type.String() })

/** Reference §4.14. */
export const AclPolicyRules = Type.Object(
  {
    Namespaces: Nullable(
      Type.Array(
        Type.Object({
          ...named,
          Variables: Nullable(Type.Object({ Paths: Type.Array(PathRule) })),
        }),
      ),
    ),
    NodePools: Nullable(Type.Array(NamedRule)),
    HostVolumes: Nullable(Type.Array(NamedRule)),
    Agent: Nullable(BareRule),
    Node: Nullable(BareRule),
    Operator: Nullable(
      Type.Object({ Policy: Type.String(), Capabilities: Type.Array(Type.String()) }),
    ),
    Quota: Nullable(BareRule),
    Plugin: Nullable(BareRule),
  },
  { $id: 'AclPolicyRules', description: 'The rules of a policy after parsing.' },
)
export type AclPolicyRules = Shape<typeof AclPolicyRules>

/** Reference §4.14, as stored and as events carry it. */
export const AclPolicyRecord = Type.Object(
  { ...stubFields, Rules: Type.String({ description: 'The text as it was submitted.' }) },
  { $id: 'AclPolicyRecord', description: 'A named set of access rules, as it is stored.' },
)
export type AclPolicyRecord = Shape<typeof AclPolicyRecord>

export const AclPolicy = Type.Object(
  { ...AclPolicyRecord.properties, RulesJSON: AclPolicyRules },
  { $id: 'AclPolicy', description: 'A named set of access rules.' },
)
export type AclPolicy = Shape<typeof AclPolicy>

export const AclPolicyRequest = Type.Object(
  {
    Name: Type.String({ description: 'The one in the path.' }),
    Description: Type.String(),
    Rules: Type.String(),
    JobACL: Nullable(JobAcl),
  },
  { $id: 'AclPolicyRequest' },
)
export type AclPolicyRequest = Input<Shape<typeof AclPolicyRequest>>

const AclPolicyPath = Type.Object({ policy_name: Type.String() })
const section = 'ACL policies'

export const aclPolicyRoutes = {
  listAclPolicies: route({
    id: 'listAclPolicies',
    methods: ['GET'],
    path: '/v1/acl/policies',
    summary: 'List access policies.',
    section,
    query: Type.Object({ ...common, ...blocking, prefix }),
    answers: {
      200: ok(Type.Array(AclPolicyStub), 'All for management; else those of the token.'),
      403: denied,
    },
    blocking: true,
    needs: 'any valid ACL token',
  }),
  listOwnAclPolicies: route({
    id: 'listOwnAclPolicies',
    methods: ['GET'],
    path: '/v1/acl/policy/self',
    summary: 'List the access policies of the token of the caller.',
    section,
    query: BlockingQuery,
    answers: { 200: ok(Type.Array(AclPolicyRecord), 'The policies.'), 403: denied },
    blocking: true,
    needs: 'any valid ACL token',
  }),
  readAclPolicy: route({
    id: 'readAclPolicy',
    methods: ['GET'],
    path: '/v1/acl/policy/:policy_name',
    summary: 'Read one access policy.',
    section,
    params: AclPolicyPath,
    query: BlockingQuery,
    answers: {
      200: ok(AclPolicy, 'The policy.'),
      403: denied,
      404: refused('`ACL policy not found`'),
    },
    blocking: true,
    needs: 'management, or a token that has the policy',
  }),
  writeAclPolicy: route({
    id: 'writeAclPolicy',
    methods: WRITE,
    path: '/v1/acl/policy/:policy_name',
    region: 'authoritative',
    summary: 'Create or change an access policy.',
    section,
    params: AclPolicyPath,
    query: WriteQuery,
    body: AclPolicyRequest,
    answers: {
      200: done('The policy is stored.'),
      400: refused('The name, the description or the rules are invalid.'),
      403: denied,
    },
    needs: 'management',
  }),
  deleteAclPolicy: route({
    id: 'deleteAclPolicy',
    methods: ['DELETE'],
    path: '/v1/acl/policy/:policy_name',
    region: 'authoritative',
    summary: 'Delete an access policy; an unknown one is no fault.',
    section,
    params: AclPolicyPath,
    query: WriteQuery,
    answers: { 200: done('The policy is gone.'), 403: denied },
    needs: 'management',
  }),
} as const
