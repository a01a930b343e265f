import { v2 } from '@reeve/contract'
import {
  findApply,
  openLogKey,
  logLength,
  readLog,
  readRunFile,
  type GovernanceContext,
} from '../../governance/index.ts'
import { err, ok } from '@reeve/kit/result.ts'
import { NOT_FOUND } from '../../model/index.ts'
import { mapResult, resourceDocument } from './documents.ts'
import { endpoint, type JsonApiResult, type V2Endpoint, type V2Request } from './endpoint.ts'
import { waitForRow, type WaitDeps } from './row-waits.ts'
import { applyResource } from './resources/run.ts'

const { v2Routes } = v2

/** Returns the routes of applies, and of the logs of plans and applies. */
export function runApplyEndpoints(host: WaitDeps): readonly V2Endpoint[] {
  const { context } = host
  return [
    endpoint(v2Routes.readApply, ({ caller, params, requestUrl }) =>
      mapResult(
        findApply(context, caller, { applyId: params.apply_id, right: 'read' }),
        (visible) => {
          const apply = applyResource({ context, origin: requestUrl.origin }, visible)
          return apply === undefined ? err(NOT_FOUND) : resourceDocument(apply)
        },
      ),
    ),
    endpoint(v2Routes.readErroredState, (request) => readErroredState(context, request)),
    endpoint(v2Routes.readRunLog, (request) => readLogRange(host, request), {
      isPublic: true,
      isUnlimited: true,
    }),
  ]
}

async function readErroredState(
  context: GovernanceContext,
  { caller, params }: V2Request<typeof v2Routes.readErroredState>,
): Promise<JsonApiResult> {
  const visible = findApply(context, caller, { applyId: params.apply_id, right: 'readState' })
  if (!visible.ok) return visible
  const bytes = await readRunFile(context, visible.value.run.id, 'errored-state')
  if (bytes === undefined) return err(NOT_FOUND)
  return ok({ kind: 'bytes', status: 200, bytes, headers: { 'content-type': v2.BINARY_TYPE } })
}

const LIMIT_DEFAULT = 65_536
/** Long polling: clients whose request waits for new output poll less often. */
const WAIT_SECONDS = 5

async function readLogRange(
  host: WaitDeps,
  { params, query, tenant }: V2Request<typeof v2Routes.readRunLog>,
): Promise<JsonApiResult> {
  const { context } = host
  const found = openLogKey(context, params.upload_key)
  if (!found.ok) return found
  const { offset = 0, limit = LIMIT_DEFAULT } = query
  const hasMore = (): boolean => logLength(context, found.value) > offset
  const isOver = (): boolean => hasMore() || isLogComplete(context, found.value)
  await waitForRow(
    host,
    { table: 'run_phases', key: found.value },
    {
      tenant,
      seconds: WAIT_SECONDS,
      isDone: isOver,
    },
  )
  const bytes = await readLog(context, found.value, { offset, limit })
  return ok({ kind: 'bytes', status: 200, bytes, headers: LOG_HEADERS })
}

const LOG_HEADERS = {
  'content-type': 'text/plain; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
}

function isLogComplete({ store }: GovernanceContext, phaseId: string): boolean {
  const phase = store.tables.run_phases.find(phaseId)
  return phase !== undefined && phase.status !== 'queued' && phase.status !== 'running'
}
