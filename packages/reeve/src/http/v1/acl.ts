import {
  HOST_VOLUME_CAPABILITIES,
  NAMESPACE_CAPABILITIES,
  NODE_POOL_CAPABILITIES,
  OPERATOR_CAPABILITIES,
  v1Routes,
  VARIABLE_CAPABILITIES,
  type AclAccess,
  type AclPolicy,
  type AclPolicyRecord,
  type AclPolicyStub,
  type AclRole,
  type AclRoleRequest,
} from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { type Caller, NO_RULES, parseAclRules, rulesJson } from '../../acl/index.ts'
import { PERMISSION_DENIED, refusal, type Refusal, invalidInput } from '../../model/index.ts'
import type { Author } from '../../state/index.ts'
import {
  deletePolicy,
  deleteRole,
  mayReadPolicy,
  policyNamesOfCaller,
  ROLE_NOT_FOUND,
  visiblePolicies,
  visibleRoles,
  type WorkloadContext,
  writePolicy,
  writeRole,
} from '../../workload/index.ts'
import { EMPTY_RESPONSE, json, jsonItems } from '../response.ts'
import { aclTokenEndpoints } from './acl-tokens.ts'
import {
  type Endpoint,
  read,
  type V1Request,
  type WatchedRead,
  write,
  type WriteRequestOf,
  type WriteResult,
} from './endpoint.ts'
import { unwatchedRead } from './node-rpc.ts'
import { requireBody } from './errors.ts'
import { allowAll, management } from './access.ts'
import { filterVisible, listRows, readRow, scanByKey } from './reads.ts'

const ACL_DISABLED: Refusal = refusal('acl-disabled', 'ACL support disabled')

export function aclEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const endpoints = [
    ...aclTokenEndpoints(context),
    ...aclPolicyEndpoints(context),
    ...aclRoleEndpoints(context),
  ]
  const access = aclAccessEndpoints(context)
  return [...access, ...(context.aclEnabled ? endpoints : endpoints.map(withAclDisabled))]
}

/** Keeps the routes, so that a caller learns the reason instead of a 404. */
function withAclDisabled({ resolveRegion: _, ...endpoint }: Endpoint): Endpoint {
  return endpoint.kind === 'read'
    ? { ...endpoint, plan: () => err(ACL_DISABLED) }
    : { ...endpoint, run: async () => err(ACL_DISABLED) }
}

type Grants = Caller['grants']

/** Returns the route that checks a capability of the caller, by the grants that all routes use. */
function aclAccessEndpoints({ aclEnabled }: WorkloadContext): readonly Endpoint[] {
  return [
    read(v1Routes.checkAccess, allowAll, ({ caller, namespace, query }) =>
      unwatchedRead(async () => {
        const { capability: Capability = '', name: Name = '' } = query
        const allowed = isAllowed(caller.grants, { capability: Capability, namespace, name: Name })
        if (!allowed.ok) return allowed
        const Allowed = allowed.value
        const responseBody: AclAccess = {
          Capability,
          Namespace: namespace,
          Name,
          Allowed,
          AclEnabled: aclEnabled,
        }
        return ok(json(responseBody))
      }),
    ),
  ]
}

interface AccessCheck {
  /** `submit-job` or, with its kind, `node:write`. */
  readonly capability: string
  readonly namespace: string
  readonly name: string
}

const LEVELS = ['read', 'write'] as const

function isAllowed(
  grants: Grants,
  { capability, namespace, name }: AccessCheck,
): Result<boolean, Refusal> {
  if (capability === '') return invalidInput('missing capability')
  if (capability === 'management') return ok(grants.isManagement)
  const colon = capability.indexOf(':')
  const kind = colon === -1 ? 'namespace' : capability.slice(0, colon)
  const capabilityName = capability.slice(colon + 1)
  switch (kind) {
    case 'namespace':
      return checkCapability(NAMESPACE_CAPABILITIES, capabilityName, (one) =>
        namespace === '*' ? grants.allowsInAnyNamespace(one) : grants.allows(namespace, one),
      )
    case 'node':
      return checkCapability(LEVELS, capabilityName, (one) => grants.node(one))
    case 'agent':
      return checkCapability(LEVELS, capabilityName, (one) => grants.agent(one))
    case 'operator':
      return checkCapability([...LEVELS, ...OPERATOR_CAPABILITIES], capabilityName, (one) =>
        grants.operator(one),
      )
    case 'node_pool':
      return (
        missingName(name, kind) ??
        checkCapability(NODE_POOL_CAPABILITIES, capabilityName, (one) => grants.nodePool(name, one))
      )
    case 'host_volume':
      return (
        missingName(name, kind) ??
        checkCapability(HOST_VOLUME_CAPABILITIES, capabilityName, (one) =>
          grants.hostVolume(name, one),
        )
      )
    case 'variables':
      if (namespace === '*')
        return invalidInput('a capability of the kind variables needs one namespace, not *')
      return (
        missingName(name, kind) ??
        checkCapability(VARIABLE_CAPABILITIES, capabilityName, (one) =>
          grants.variable(namespace, name, one),
        )
      )
    default:
      return invalidInput(`unknown kind ${JSON.stringify(kind)}; use one of ${KINDS}`)
  }
}

const KINDS = 'namespace, node, agent, operator, node_pool, host_volume, variables'

function missingName(name: string, kind: string): Result<boolean, Refusal> | undefined {
  return name === '' ? invalidInput(`a capability of the kind ${kind} needs a name`) : undefined
}

/** Checks a capability by name. `deny` appears in rules but is not a capability. */
function checkCapability<Word extends string>(
  capabilities: readonly Word[],
  name: string,
  isGranted: (capability: Word) => boolean,
): Result<boolean, Refusal> {
  const capability = capabilities.find((one) => one === name && one !== 'deny')
  if (capability !== undefined) return ok(isGranted(capability))
  const validNames = capabilities.filter((one) => one !== 'deny').join(', ')
  return invalidInput(`unknown capability ${JSON.stringify(name)}; use one of ${validNames}`)
}

const POLICY_NOT_FOUND: Refusal = refusal('acl-policy-not-found', 'ACL policy not found')

function aclPolicyEndpoints(context: WorkloadContext): readonly Endpoint[] {
  return [
    read(v1Routes.listAclPolicies, allowAll, (request) => ok(listPolicies(context, request))),
    read(v1Routes.listOwnAclPolicies, allowAll, (request) => ok(listOwnPolicies(context, request))),
    read(v1Routes.readAclPolicy, allowAll, (request) => readPolicy(context, request)),
    write(v1Routes.writeAclPolicy, management, (request) => storePolicy(context, request)),
    write(v1Routes.deleteAclPolicy, management, async ({ caller, params }) => {
      const { index } = await deletePolicy(context, caller, params.policy_name)
      return ok({ index, response: EMPTY_RESPONSE })
    }),
  ]
}

function listPolicies(
  context: WorkloadContext,
  { caller, query }: V1Request<typeof v1Routes.listAclPolicies>,
): WatchedRead {
  const { acl_policies } = context.store.tables
  return listRows(acl_policies, () => {
    const isVisible = visiblePolicies(context, caller)
    return {
      scan: filterVisible(scanByKey(acl_policies, query.prefix ?? ''), (row) =>
        isVisible(row.Name),
      ),
      query: {},
      filter: {},
      stub: policyStub,
    }
  })
}

function policyStub(row: AclPolicyRecord): AclPolicyStub {
  const { Rules: _rules, ...stub } = row
  return stub
}

function listOwnPolicies(
  context: WorkloadContext,
  { caller }: V1Request<typeof v1Routes.listOwnAclPolicies>,
): WatchedRead {
  const { acl_policies } = context.store.tables
  return {
    index: () => acl_policies.lastIndex,
    watch: [{ table: 'acl_policies' }],
    respond: () => {
      const names = [...policyNamesOfCaller(context, caller)].toSorted()
      return ok(jsonItems(names.flatMap((name) => acl_policies.rowJsonOf(name) ?? [])))
    },
  }
}

function readPolicy(
  context: WorkloadContext,
  { caller, params }: V1Request<typeof v1Routes.readAclPolicy>,
): Result<WatchedRead, Refusal> {
  const { acl_policies } = context.store.tables
  const name = params.policy_name
  if (!mayReadPolicy(context, caller, name)) return err(PERMISSION_DENIED)
  return ok(
    readRow(acl_policies, {
      key: name,
      notFound: POLICY_NOT_FOUND,
      render: (row) => policyView(context, row),
    }),
  )
}

/** Stored policies were valid when they were written; one that is not any more grants nothing. */
function policyView({ ruleAliases }: WorkloadContext, row: AclPolicyRecord): AclPolicy {
  const rules = parseAclRules(row.Rules, ruleAliases)
  return { ...row, RulesJSON: rulesJson(rules.ok ? rules.value : NO_RULES) }
}

async function storePolicy(
  context: WorkloadContext,
  { params, ...request }: WriteRequestOf<typeof v1Routes.writeAclPolicy>,
): Promise<Result<WriteResult, Refusal>> {
  const body = requireBody(request.body)
  if (!body.ok) return body
  // The path contains the name; a body may omit it.
  const Name = body.value.Name ?? params.policy_name
  if (Name !== params.policy_name)
    return err(refusal('invalid-input', 'ACL policy name does not match request path'))
  const written = await writePolicy(context, request.caller, { ...body.value, Name })
  return written.ok ? ok({ index: written.value.index, response: EMPTY_RESPONSE }) : written
}

function aclRoleEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const { acl_roles } = context.store.tables
  return [
    read(v1Routes.listAclRoles, allowAll, (request) => ok(listRoles(context, request))),
    read(v1Routes.readAclRole, allowAll, ({ caller, params }) =>
      ok(readRole(context, caller, { find: () => acl_roles.find(params.role_id.toLowerCase()) })),
    ),
    read(v1Routes.readAclRoleByName, allowAll, ({ caller, params }) =>
      ok(
        readRole(context, caller, {
          find: () => acl_roles.rowsByIndex('name', params.role_name)[0],
        }),
      ),
    ),
    write(v1Routes.createAclRole, management, async (request) => {
      const body = requireBody(request.body)
      return body.ok ? storeRole(context, request.caller, body.value) : body
    }),
    write(v1Routes.updateAclRole, management, async ({ params, ...request }) => {
      const body = requireBody(request.body)
      if (!body.ok) return body
      const id = body.value.ID || params.role_id
      if (id !== params.role_id)
        return err(refusal('invalid-input', 'ACL role ID does not match request path'))
      return storeRole(context, request.caller, { ...body.value, ID: id })
    }),
    write(v1Routes.deleteAclRole, management, async ({ caller, params }) => {
      const deleted = await deleteRole(context, caller, params.role_id)
      return deleted.ok ? ok({ index: deleted.value.index, response: EMPTY_RESPONSE }) : deleted
    }),
  ]
}

async function storeRole(
  context: WorkloadContext,
  author: Author,
  request: AclRoleRequest,
): Promise<Result<WriteResult, Refusal>> {
  const written = await writeRole(context, author, request)
  if (!written.ok) return written
  return ok({ index: written.value.index, response: json(written.value.role) })
}

function listRoles(
  context: WorkloadContext,
  { caller, query }: V1Request<typeof v1Routes.listAclRoles>,
): WatchedRead {
  const { acl_roles } = context.store.tables
  return listRows(acl_roles, () => {
    const isVisible = visibleRoles(context, caller)
    return {
      scan: filterVisible(scanByKey(acl_roles, query.prefix ?? ''), (row) => isVisible(row.ID)),
      query: {},
      filter: {},
      stub: (row) => row,
    }
  })
}

/** Without a management token, hidden and missing roles are indistinguishable. */
function readRole(
  context: WorkloadContext,
  caller: V1Request<typeof v1Routes.readAclRole>['caller'],
  { find }: { readonly find: () => AclRole | undefined },
): WatchedRead {
  const { acl_roles } = context.store.tables
  return {
    index: () => find()?.ModifyIndex ?? acl_roles.lastIndex,
    watch: [{ table: 'acl_roles' }],
    respond: () => {
      const role = find()
      if (role !== undefined && visibleRoles(context, caller)(role.ID)) return ok(json(role))
      return err(caller.grants.isManagement ? ROLE_NOT_FOUND : PERMISSION_DENIED)
    },
  }
}
