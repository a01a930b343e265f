import { v1Routes, type NamespaceRequest } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { PERMISSION_DENIED, refusal, type Refusal } from '../../model/index.ts'
import type { Author, Store } from '../../state/index.ts'
import {
  deleteNamespace,
  NAMESPACE_NOT_FOUND,
  writeNamespace,
  type WorkloadContext,
} from '../../workload/index.ts'
import { EMPTY_RESPONSE } from '../response.ts'
import {
  read,
  write,
  type Endpoint,
  type WatchedRead,
  type V1Request,
  type WriteResult,
} from './endpoint.ts'
import { requireBody } from './errors.ts'
import { allowAll, management } from './access.ts'
import { filterVisible, listRows, readRow, scanByKey } from './reads.ts'

export function namespaceEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const { store } = context
  return [
    read(v1Routes.listNamespaces, allowAll, (request) => ok(listNamespaces(store, request))),
    read(v1Routes.readNamespace, allowAll, (request) => readNamespace(store, request)),
    write(v1Routes.writeNamespace, management, async (request) => {
      const body = requireBody(request.body)
      return body.ok ? storeNamespace(context, request.caller, body.value) : body
    }),
    write(v1Routes.writeNamespaceByName, management, async ({ params, ...request }) => {
      const body = requireBody(request.body)
      if (!body.ok) return body
      // The path contains the name; a body may omit it.
      const Name = body.value.Name ?? params.namespace_name
      if (Name !== params.namespace_name)
        return err(refusal('invalid-input', 'Namespace name does not match request path'))
      return storeNamespace(context, request.caller, { ...body.value, Name })
    }),
    write(v1Routes.deleteNamespace, management, async ({ caller, params, token }) => {
      const deleted = await deleteNamespace(context, caller, params.namespace_name, token ?? '')
      return deleted.ok ? ok({ index: deleted.value.index, response: EMPTY_RESPONSE }) : deleted
    }),
  ]
}

async function storeNamespace(
  context: WorkloadContext,
  author: Author,
  request: NamespaceRequest,
): Promise<Result<WriteResult, Refusal>> {
  const written = await writeNamespace(context, author, request)
  return written.ok ? ok({ index: written.value.index, response: EMPTY_RESPONSE }) : written
}

/** Lists the namespaces in which the caller has a permission; empty if it has none anywhere. */
function listNamespaces(
  store: Store,
  { caller, query }: V1Request<typeof v1Routes.listNamespaces>,
): WatchedRead {
  const { namespaces } = store.tables
  return listRows(namespaces, () => ({
    scan: filterVisible(scanByKey(namespaces, query.prefix ?? ''), (row) =>
      caller.grants.canSeeNamespace(row.Name),
    ),
    query: {},
    filter: {},
    stub: (row) => row,
  }))
}

function readNamespace(
  store: Store,
  { caller, params }: V1Request<typeof v1Routes.readNamespace>,
): Result<WatchedRead, Refusal> {
  const name = params.namespace_name
  if (!caller.grants.canSeeNamespace(name)) return err(PERMISSION_DENIED)
  return ok(readRow(store.tables.namespaces, { key: name, notFound: NAMESPACE_NOT_FOUND }))
}
