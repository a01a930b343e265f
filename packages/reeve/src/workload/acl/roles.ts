import type { AclRole, AclRolePolicyLink, AclRoleRequest } from '@reeve/contract'
import { roleHash, validateRole, type Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type Refusal } from '../../model/index.ts'
import { put, remove, type Author } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'

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
  if (id !== '' && !acl_roles.has(id)) return invalid(`cannot find role ${requestedId}`)
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
  if (problem !== undefined) return invalid(problem)
  for (const other of acl_roles.keysByIndex('name', role.Name))
    if (other !== id) return invalid(`role with name ${role.Name} already exists`)
  const missing = role.Policies.find(({ Name }) => !acl_policies.has(Name))
  return missing === undefined ? ok(role) : invalid(`cannot find policy ${missing.Name}`)
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

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
