import { HEADERS, type Route } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import type { Refusal } from '../../model/index.ts'
import type { AuditEntry } from '../../state/index.ts'
import { workloadActor } from '../audit/actors.ts'
import { successStatus, type AuditLog } from '../audit/audit-log.ts'
import { getField, asString } from '../json-field.ts'
import type { Exchange } from '../pipeline/serve.ts'
import type { V1Deps } from './exchange.ts'
import { HTTP_STATUS } from './statuses.ts'

/** Returns the audit entry of a request before it is executed. */
export function auditEntry(
  { regions }: Pick<V1Deps, 'regions'>,
  route: Route,
  { request, params }: Pick<Exchange, 'request' | 'params'>,
  { caller, namespace }: { readonly caller: Caller; readonly namespace: string },
): AuditEntry {
  return {
    actor: workloadActor(caller),
    address: request.clientAddress,
    requestId: request.id,
    method: request.method,
    route: route.path,
    action: route.id,
    successStatus: successStatus(route),
    namespace,
    pathResources: Object.values(params),
    via: regions?.forwardedBy(request.raw),
    client: parseClient(request.raw.headers[CLIENT_HEADER]),
  }
}

const CLIENT_HEADER = HEADERS.client.toLowerCase()

function parseClient(value: string | readonly string[] | undefined): 'cli' | 'web' | undefined {
  return value === 'cli' || value === 'web' ? value : undefined
}

/** Adds the job that the body names: a rejected request has no written row that identifies it. */
export function withJobFromBody(entry: AuditEntry, body: unknown): AuditEntry {
  const job = getField(body, 'Job')
  const id = asString(getField(job, 'ID'))
  if (id === '') return entry
  const namespace = asString(getField(job, 'Namespace')) || entry.namespace
  return { ...entry, namespace, pathResources: [...entry.pathResources, id] }
}

/** Adds the node that the query names: the path of a request to a node has no ID. */
export function withNodeFromQuery(entry: AuditEntry, query: object): AuditEntry {
  const id = asString(getField(query, 'node_id'))
  return id === '' ? entry : { ...entry, pathResources: [...entry.pathResources, id] }
}

/**
 * Records a rejected write. Callers without a token leave no record: otherwise anyone could fill
 * the audit log.
 */
export function recordRejection(audit: AuditLog, entry: AuditEntry, { code }: Refusal): void {
  if (entry.actor.Type !== 'anonymous') audit.recordDeferred(entry, { status: HTTP_STATUS[code] })
}
