import { Type } from 'typebox'
import { routes } from '../route.ts'
import { read, remove, blockingRead, write } from './define.ts'
import { Named, Index, Nullable, type Input, type Infer } from '../schema.ts'
import { Base64, emptyResponse, jsonResponse } from './shared-schemas.ts'
import { prefixQuery, TextParameter } from './query.ts'

export const JobAcl = Named('JobAcl', 'The workload whose identity the policy is attached to.', {
  Namespace: Type.String(),
  JobID: Type.String(),
  Group: Type.String(),
  Task: Type.String(),
})
export type JobAcl = Infer<typeof JobAcl>

const stubFields = {
  Name: Type.String(),
  Description: Type.String(),
  JobACL: Nullable(JobAcl),
  Hash: Base64(),
  CreateIndex: Index(),
  ModifyIndex: Index(),
}

export const AclPolicyStub = Named('AclPolicyStub', 'An access policy in a list.', stubFields)
export type AclPolicyStub = Infer<typeof AclPolicyStub>

const PathRule = Type.Object({ PathSpec: Type.String(), Capabilities: Type.Array(Type.String()) })
const named = {
  Name: Type.String({ description: 'A name, or a pattern with `*`.' }),
  Policy: Type.String(),
  Capabilities: Type.Array(Type.String(), { description: 'With those of `Policy`.' }),
}
const NamedRule = Type.Object(named)
const BareRule = Type.Object({ Policy: Type.String() })

export const AclPolicyRules = Named('AclPolicyRules', 'The rules of a policy after parsing.', {
  Namespaces: Nullable(
    Type.Array(
      Type.Object({ ...named, Variables: Nullable(Type.Object({ Paths: Type.Array(PathRule) })) }),
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
})
export type AclPolicyRules = Infer<typeof AclPolicyRules>

export const AclPolicyRecord = Type.Object(
  { ...stubFields, Rules: Type.String({ description: 'The text as it was submitted.' }) },
  { $id: 'AclPolicyRecord', description: 'A named set of access rules, as it is stored.' },
)
export type AclPolicyRecord = Infer<typeof AclPolicyRecord>

export const AclPolicy = Named('AclPolicy', 'A named set of access rules.', {
  ...AclPolicyRecord.properties,
  RulesJSON: AclPolicyRules,
})
export type AclPolicy = Infer<typeof AclPolicy>

export const AclPolicyRequest = Named('AclPolicyRequest', {
  Name: Type.String({ description: 'The one in the path.' }),
  Description: Type.String(),
  Rules: Type.String(),
  JobACL: Nullable(JobAcl),
})
export type AclPolicyRequest = Input<Infer<typeof AclPolicyRequest>>

export const AclAccess = Named('AclAccess', 'Whether the caller holds a capability.', {
  Capability: Type.String(),
  Namespace: Type.String(),
  Name: Type.String({ description: 'Of the node pool, host volume or variable; may be empty.' }),
  Allowed: Type.Boolean(),
  AclEnabled: Type.Boolean({ description: 'False: without ACLs everything is allowed.' }),
})
export type AclAccess = Infer<typeof AclAccess>

export const aclPolicyRoutes = routes('ACL policies', {
  checkAccess: read('/acl/can', {
    summary: 'Tell whether the token of the caller holds a capability.',
    query: {
      capability: Type.Optional(
        Type.String({
          description:
            'Required. A capability of the namespace such as `submit-job`; or with its kind: ' +
            '`node:write`, `agent:read`, `operator:snapshot-save`, `node_pool:read`, ' +
            '`host_volume:mount-readonly`, `variables:write`; or `management`.',
        }),
      ),
      name: TextParameter('The node pool, the host volume, or the path of the variable.'),
    },
    returns: jsonResponse(AclAccess, 'The answer.'),
    errors: { 400: 'The capability is unknown, or its kind needs a name.' },
    needs: 'any',
  }),
  listAclPolicies: blockingRead('/acl/policies', {
    summary: 'List access policies.',
    query: { prefix: prefixQuery },
    returns: jsonResponse(
      Type.Array(AclPolicyStub),
      'All for management; else those of the token.',
    ),
    needs: 'any valid ACL token',
  }),
  listOwnAclPolicies: blockingRead('/acl/policy/self', {
    summary: 'List the access policies of the token of the caller.',
    returns: jsonResponse(Type.Array(AclPolicyRecord), 'The policies.'),
    needs: 'any valid ACL token',
  }),
  readAclPolicy: blockingRead('/acl/policy/:policy_name', {
    summary: 'Read one access policy.',
    returns: jsonResponse(AclPolicy, 'The policy.'),
    errors: { 404: '`ACL policy not found`' },
    needs: 'management, or a token that has the policy',
  }),
  writeAclPolicy: write('/acl/policy/:policy_name', {
    summary: 'Create or change an access policy.',
    region: 'authoritative',
    body: AclPolicyRequest,
    returns: emptyResponse('The policy is stored.'),
    errors: { 400: 'The name, the description or the rules are invalid.' },
    needs: 'management',
  }),
  deleteAclPolicy: remove('/acl/policy/:policy_name', {
    summary: 'Delete an access policy; an unknown one is no fault.',
    region: 'authoritative',
    returns: emptyResponse('The policy is deleted.'),
    needs: 'management',
  }),
})
