import type {
  AclPolicyRecord,
  AclPolicyRequest,
  AclRole,
  AclRolePolicyLink,
  AclRoleRequest,
  JobAcl,
} from '@reeve/contract'
import {
  policyHash,
  policyNamesOf,
  validatePolicy,
  type Caller,
  roleHash,
  validateRole,
} from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type Refusal, invalidInput } from '../../model/index.ts'
import { put, remove, type Author } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { ANONYMOUS } from './tokens.ts'

/** Creates or replaces a policy. Tokens that reference it get its permissions immediately. */
export async function writePolicy(
  { store, ruleAliases }: WorkloadContext,
  { by }: Author,
  request: AclPolicyRequest,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const policy = {
    Name: request.Name ?? '',
    Description: request.Description ?? '',
    Rules: request.Rules ?? '',
    JobACL: jobAclOf(request.JobACL),
  }
  const problem = validatePolicy(policy, ruleAliases)
  if (problem !== undefined) return err(refusal('invalid-input', problem))
  const row: AclPolicyRecord = {
    ...policy,
    Hash: policyHash(policy),
    CreateIndex: 0,
    ModifyIndex: 0,
  }
  const { index, durable } = store.commit({
    by,
    cause: 'ACLPolicyUpserted',
    changes: () => [put('acl_policies', row)],
  })
  await durable
  return ok({ index })
}

function jobAclOf(input: AclPolicyRequest['JobACL']): JobAcl | null {
  if (input === undefined || input === null) return null
  return {
    Namespace: input.Namespace ?? '',
    JobID: input.JobID ?? '',
    Group: input.Group ?? '',
    Task: input.Task ?? '',
  }
}

/** Deletes a policy; an unknown name succeeds. */
export async function deletePolicy(
  { store }: WorkloadContext,
  { by }: Author,
  name: string,
): Promise<{ readonly index: number }> {
  const { index, durable } = store.commit({
    by,
    cause: 'ACLPolicyDeleted',
    changes: () => (store.tables.acl_policies.has(name) ? [remove('acl_policies', name)] : []),
  })
  await durable
  return { index }
}

/** Returns the names of the policies of the caller's token, assigned directly or by roles. */
export function policyNamesOfCaller(
  { store }: WorkloadContext,
  caller: Caller,
): ReadonlySet<string> {
  const { acl_roles, acl_tokens } = store.tables
  if (caller.type === 'anonymous') return new Set([ANONYMOUS])
  const token = acl_tokens.find(caller.accessorId)
  if (token === undefined) return new Set()
  return policyNamesOf(token, {
    rolePolicies: (id) => acl_roles.find(id)?.Policies.map((link) => link.Name),
  })
}

/** Returns the filter of policy lists: all policies for management, else the caller's own. */
export function visiblePolicies(
  context: WorkloadContext,
  caller: Caller,
): (name: string) => boolean {
  if (caller.grants.isManagement) return () => true
  const ownNames = policyNamesOfCaller(context, caller)
  return (name) => ownNames.has(name)
}

/**
 * Reports whether the caller may read a policy: its own ones, and the anonymous one, which applies
 * to every caller.
 */
export function mayReadPolicy(context: WorkloadContext, caller: Caller, name: string): boolean {
  return name === ANONYMOUS || visiblePolicies(context, caller)(name)
}

export const ROLE_NOT_FOUND: Refusal = refusal('acl-role-not-found', 'ACL role not found')

/** Result of a role write. */
interface RoleWriteResult {
  readonly index: number
  readonly role: AclRole
}

/** Creates a role, or updates the one whose ID the request contains. */
export async function writeRole(
  context: WorkloadContext,
  { by }: Author,
  request: AclRoleRequest,
): Promise<Result<RoleWriteResult, Refusal>> {
  const { store, ids } = context
  const { acl_roles } = store.tables
  const requestedId = request.ID ?? ''
  const id = requestedId.toLowerCase()
  if (id !== '' && !acl_roles.has(id)) return invalidInput(`cannot find role ${requestedId}`)
  const checked = validateRoleRequest(context, request, id)
  if (!checked.ok) return checked
  const row: AclRole = {
    ID: id || ids.uuid(),
    ...checked.value,
    Hash: roleHash(checked.value),
    CreateIndex: 0,
    ModifyIndex: 0,
  }
  const { index, durable } = store.commit({
    by,
    cause: 'ACLRoleUpserted',
    changes: () => [put('acl_roles', row)],
  })
  const role = acl_roles.get(row.ID)
  await durable
  return ok({ index, role })
}

type RoleContent = Pick<AclRole, 'Name' | 'Description' | 'Policies'>

function validateRoleRequest(
  { store }: WorkloadContext,
  request: AclRoleRequest,
  id: string,
): Result<RoleContent, Refusal> {
  const { acl_roles, acl_policies } = store.tables
  const role = {
    Name: request.Name ?? '',
    Description: request.Description ?? '',
    Policies: uniqueLinks(request.Policies ?? []),
  }
  const problem = validateRole(role)
  if (problem !== undefined) return invalidInput(problem)
  for (const other of acl_roles.keysByIndex('name', role.Name))
    if (other !== id) return invalidInput(`role with name ${role.Name} already exists`)
  const missing = role.Policies.find(({ Name }) => !acl_policies.has(Name))
  return missing === undefined ? ok(role) : invalidInput(`cannot find policy ${missing.Name}`)
}

function uniqueLinks(links: readonly { readonly Name?: string | null | undefined }[]) {
  const names = new Set(links.map(({ Name }) => Name ?? ''))
  return [...names].map((Name): AclRolePolicyLink => ({ Name }))
}

/** Deletes a role. Tokens keep their link to it, which grants nothing any more. */
export async function deleteRole(
  { store }: WorkloadContext,
  { by }: Author,
  id: string,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const key = id.toLowerCase()
  if (!store.tables.acl_roles.has(key)) return err(ROLE_NOT_FOUND)
  const { index, durable } = store.commit({
    by,
    cause: 'ACLRoleDeleted',
    changes: () => [remove('acl_roles', key)],
  })
  await durable
  return ok({ index })
}

/** Returns the filter of role lists: all roles for management, else those of the caller's token. */
export function visibleRoles({ store }: WorkloadContext, caller: Caller): (id: string) => boolean {
  if (caller.grants.isManagement) return () => true
  const links = store.tables.acl_tokens.find(caller.accessorId)?.Roles ?? []
  const ownIds = new Set(links.map((link) => link.ID))
  return (id) => ownIds.has(id)
}
