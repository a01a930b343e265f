import { v1Routes, type AclRole, type AclRoleRequest } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { PERMISSION_DENIED, refusal, type Refusal } from '../../model/index.ts'
import type { Author } from '../../state/index.ts'
import {
  deleteRole,
  ROLE_NOT_FOUND,
  visibleRoles,
  writeRole,
  type WorkloadContext,
} from '../../workload/index.ts'
import { EMPTY, json } from '../answer.ts'
import {
  read,
  write,
  type Endpoint,
  type ReadPlan,
  type RequestOf,
  type Written,
} from './endpoint.ts'
import { requiredBody } from './required-body.ts'
import { anyone, management } from './requirements.ts'
import { listRows } from './row-reads.ts'
import { visible, walkKeys } from './walks.ts'

export function aclRoleEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const { acl_roles } = context.store.tables
  return [
    read(v1Routes.listAclRoles, anyone, (request) => ok(listRoles(context, request))),
    read(v1Routes.readAclRole, anyone, ({ caller, params }) =>
      ok(readRole(context, caller, { find: () => acl_roles.find(params.role_id.toLowerCase()) })),
    ),
    read(v1Routes.readAclRoleByName, anyone, ({ caller, params }) =>
      ok(readRole(context, caller, { find: () => acl_roles.rowsIn('name', params.role_name)[0] })),
    ),
    write(v1Routes.createAclRole, management, async (request) => {
      const body = requiredBody(request.body)
      return body.ok ? storeRole(context, request.caller, body.value) : body
    }),
    write(v1Routes.updateAclRole, management, async ({ params, ...request }) => {
      const body = requiredBody(request.body)
      if (!body.ok) return body
      const id = body.value.ID || params.role_id
      if (id !== params.role_id)
        return err(refusal('invalid-input', 'ACL role ID does not match request path'))
      return storeRole(context, request.caller, { ...body.value, ID: id })
    }),
    write(v1Routes.deleteAclRole, management, async ({ caller, params }) => {
      const deleted = await deleteRole(context, caller, params.role_id)
      return deleted.ok ? ok({ index: deleted.value.index, answer: EMPTY }) : deleted
    }),
  ]
}

async function storeRole(
  context: WorkloadContext,
  author: Author,
  request: AclRoleRequest,
): Promise<Result<Written, Refusal>> {
  const written = await writeRole(context, author, request)
  if (!written.ok) return written
  return ok({ index: written.value.index, answer: json(written.value.role) })
}

function listRoles(
  context: WorkloadContext,
  { caller, query }: RequestOf<typeof v1Routes.listAclRoles>,
): ReadPlan {
  const { acl_roles } = context.store.tables
  return listRows(acl_roles, () => {
    const isVisible = visibleRoles(context, caller)
    return {
      walk: visible(walkKeys(acl_roles, query.prefix ?? ''), (row) => isVisible(row.ID)),
      query: {},
      filter: {},
      stub: (row) => row,
    }
  })
}

/** Without management, a role that is not the caller's and one that is not there are the same. */
function readRole(
  context: WorkloadContext,
  caller: RequestOf<typeof v1Routes.readAclRole>['caller'],
  { find }: { readonly find: () => AclRole | undefined },
): ReadPlan {
  const { acl_roles } = context.store.tables
  return {
    index: () => find()?.ModifyIndex ?? acl_roles.lastIndex,
    watch: [{ table: 'acl_roles' }],
    answer: () => {
      const role = find()
      if (role !== undefined && visibleRoles(context, caller)(role.ID)) return ok(json(role))
      return err(caller.grants.isManagement ? ROLE_NOT_FOUND : PERMISSION_DENIED)
    },
  }
}
