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
import { EMPTY_RESPONSE, json } from '../answer.ts'
import {
  read,
  write,
  type Endpoint,
  type WatchedRead,
  type V1Request,
  type WriteResult,
} from './endpoint.ts'
import { requireBody } from './required-body.ts'
import { allowAll, management } from './requirements.ts'
import { listRows } from './row-reads.ts'
import { filterVisible, scanByKey } from './walks.ts'

export function aclRoleEndpoints(context: WorkloadContext): readonly Endpoint[] {
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
