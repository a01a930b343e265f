import type { IncomingMessage } from 'node:http'
import { v1Routes, type AuditVia } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import type { PreparedExec } from '../../workload/index.ts'
import type { AuditEntry, Store } from '../../state/index.ts'
import { workloadActor } from '../audit/actors.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import { requestId } from '../request-id.ts'
import type { Closing } from './exec-closing.ts'
import type { ExecTarget } from './exec-target.ts'

/** The parts of a session's audit record. */
export interface ExecAsked {
  readonly audit: AuditLog
  readonly store: Store
  readonly caller: Caller
  readonly target: ExecTarget
  readonly request: IncomingMessage
  /** Client address. */
  readonly address: string
  readonly via: AuditVia | undefined
}

/** HTTP status of every session that was opened. */
const SWITCHING_PROTOCOLS = 101

/** Records the caller, command and task of a session. Resolves when the record is durable. */
export async function recordSession(
  asked: ExecAsked,
  { request: { allocation, command } }: PreparedExec,
): Promise<void> {
  await asked.audit.recordNow(sessionEntry(asked, allocation), {
    status: SWITCHING_PROTOCOLS,
    command,
  })
}

/** Records a rejected session of a caller with a token. Invalid requests leave no record. */
export function noteRefusedSession(asked: ExecAsked, { status }: Closing): void {
  if (status === undefined || asked.caller.type === 'anonymous') return
  const { of } = asked.target
  const allocation = of.kind === 'allocation' ? of.allocId : ''
  asked.audit.recordDeferred(sessionEntry(asked, allocation), { status })
}

function sessionEntry(
  { store, caller, target, request, address, via }: ExecAsked,
  allocId: string,
): AuditEntry {
  const { of, query } = target
  const row = store.tables.allocations.find(allocId)
  const job = of.kind === 'action' ? of.jobId : (row?.JobID ?? '')
  const asked = of.kind === 'action' ? query.get('namespace') || 'default' : ''
  const route = of.kind === 'action' ? v1Routes.runJobAction : v1Routes.execAllocation
  const resources = [allocId, job, query.get('task') ?? '']
  return {
    actor: workloadActor(caller),
    address,
    requestId: requestId(request.headers['x-request-id']),
    method: request.method ?? '',
    route: route.path,
    action: route.id,
    successStatus: SWITCHING_PROTOCOLS,
    via,
    namespace: row?.Namespace ?? asked,
    pathResources: resources.filter((one) => one !== ''),
  }
}
