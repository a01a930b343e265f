import * as t from './shared-schemas.ts'
import { read, remove, blockingRead, write, routes } from './define.ts'

export const JobAcl = t.Named('JobAcl', 'The workload whose identity the policy is attached to.', {
  Namespace: t.String(),
  JobID: t.String(),
  Group: t.String(),
  Task: t.String(),
})
export type JobAcl = t.Infer<typeof JobAcl>

const stubFields = {
  Name: t.String(),
  Description: t.String(),
  JobACL: t.Nullable(JobAcl),
  Hash: t.Base64(),
  CreateIndex: t.Index(),
  ModifyIndex: t.Index(),
}

export const AclPolicyStub = t.Named('AclPolicyStub', 'An access policy in a list.', stubFields)
export type AclPolicyStub = t.Infer<typeof AclPolicyStub>

const PathRule = t.Object({ PathSpec: t.String(), Capabilities: t.Array(t.String()) })
const named = {
  Name: t.String({ description: 'A name, or a pattern with `*`.' }),
  Policy: t.String(),
  Capabilities: t.Array(t.String(), { description: 'With those of `Policy`.' }),
}
const NamedRule = t.Object(named)
const BareRule = t.Object({ Policy: t.String() })

export const AclPolicyRules = t.Named('AclPolicyRules', 'The rules of a policy after parsing.', {
  Namespaces: t.Nullable(
    t.Array(t.Object({ ...named, Variables: t.Nullable(t.Object({ Paths: t.Array(PathRule) })) })),
  ),
  NodePools: t.Nullable(t.Array(NamedRule)),
  HostVolumes: t.Nullable(t.Array(NamedRule)),
  Agent: t.Nullable(BareRule),
  Node: t.Nullable(BareRule),
  Operator: t.Nullable(t.Object({ Policy: t.String(), Capabilities: t.Array(t.String()) })),
  Quota: t.Nullable(BareRule),
  Plugin: t.Nullable(BareRule),
})
export type AclPolicyRules = t.Infer<typeof AclPolicyRules>

export const AclPolicyRecord = t.Object(
  { ...stubFields, Rules: t.String({ description: 'The text as it was submitted.' }) },
  { $id: 'AclPolicyRecord', description: 'A named set of access rules, as it is stored.' },
)
export type AclPolicyRecord = t.Infer<typeof AclPolicyRecord>

export const AclPolicy = t.Named('AclPolicy', 'A named set of access rules.', {
  ...AclPolicyRecord.properties,
  RulesJSON: AclPolicyRules,
})
export type AclPolicy = t.Infer<typeof AclPolicy>

export const AclPolicyRequest = t.Named('AclPolicyRequest', {
  Name: t.String({ description: 'The one in the path.' }),
  Description: t.String(),
  Rules: t.String(),
  JobACL: t.Nullable(JobAcl),
})
export type AclPolicyRequest = t.Input<t.Infer<typeof AclPolicyRequest>>

export const AclAccess = t.Named('AclAccess', 'Whether the caller holds a capability.', {
  Capability: t.String(),
  Namespace: t.String(),
  Name: t.String({ description: 'Of the node pool, host volume or variable; may be empty.' }),
  Allowed: t.Boolean(),
  AclEnabled: t.Boolean({ description: 'False: without ACLs everything is allowed.' }),
})
export type AclAccess = t.Infer<typeof AclAccess>

export const aclPolicyRoutes = routes('ACL policies', {
  checkAccess: read('/acl/can', {
    summary: 'Tell whether the token of the caller holds a capability.',
    query: {
      capability: t.Optional(
        t.String({
          description:
            'Required. A capability of the namespace such as `submit-job`; or with its kind: ' +
            '`node:write`, `agent:read`, `operator:snapshot-save`, `node_pool:read`, ' +
            '`host_volume:mount-readonly`, `variables:write`; or `management`.',
        }),
      ),
      name: t.TextParameter('The node pool, the host volume, or the path of the variable.'),
    },
    returns: t.jsonResponse(AclAccess, 'The answer.'),
    errors: { 400: 'The capability is unknown, or its kind needs a name.' },
    needs: 'any',
  }),
  listAclPolicies: blockingRead('/acl/policies', {
    summary: 'List access policies.',
    query: { prefix: t.prefixQuery },
    returns: t.jsonResponse(t.Array(AclPolicyStub), 'All for management; else those of the token.'),
    needs: 'any valid ACL token',
  }),
  listOwnAclPolicies: blockingRead('/acl/policy/self', {
    summary: 'List the access policies of the token of the caller.',
    returns: t.jsonResponse(t.Array(AclPolicyRecord), 'The policies.'),
    needs: 'any valid ACL token',
  }),
  readAclPolicy: blockingRead('/acl/policy/:policy_name', {
    summary: 'Read one access policy.',
    returns: t.jsonResponse(AclPolicy, 'The policy.'),
    needs: 'management, or a token that has the policy',
  }),
  writeAclPolicy: write('/acl/policy/:policy_name', {
    summary: 'Create or change an access policy.',
    region: 'authoritative',
    body: AclPolicyRequest,
    returns: t.emptyResponse('The policy is stored.'),
    errors: { 400: 'The name, the description or the rules are invalid.' },
    acceptsUnknown: true,
    needs: 'management',
  }),
  deleteAclPolicy: remove('/acl/policy/:policy_name', {
    summary: 'Delete an access policy; an unknown one is no fault.',
    region: 'authoritative',
    returns: t.emptyResponse('The policy is deleted.'),
    acceptsUnknown: true,
    needs: 'management',
  }),
})
