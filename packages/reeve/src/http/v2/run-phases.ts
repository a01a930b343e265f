import { v2 } from '@reeve/contract'
import type { IncomingHttpHeaders } from 'node:http'
import {
  findPhase,
  finishPhase,
  readPhaseConfiguration,
  readPhaseState,
  readRemoteState,
  readRunFile,
  startPhase,
  writePhaseFile,
  writePhaseLog,
  writePhaseState,
  type PhaseCall,
  findApply,
  openLogKey,
  logLength,
  readLog,
  type GovernanceContext,
} from '../../governance/index.ts'
import { err, ok } from '@reeve/kit/result.ts'
import { NOT_FOUND } from '../../model/index.ts'
import type { WatchTarget } from '../../state/index.ts'
import type { ParkedQueries } from '../pipeline/blocking.ts'
import { bearerToken } from '../pipeline/tenants.ts'
import type { GracefulShutdown } from '../transport/shutdown.ts'
import { mapResult, NO_CONTENT, resourceDocument } from './documents.ts'
import { endpoint, type JsonApiResult, type V2Endpoint, type V2Request } from './endpoint.ts'
import { applyResource } from './resources/run.ts'

const { v2Routes } = v2

/**
 * Options of the runner's routes: runners authenticate with the token of their phase, which is not
 * a token of this API.
 */
const RUNNER_OPTIONS = { isPublic: true, isUnlimited: true } as const

/** Returns the routes for the runner of a phase. */
export function runPhaseEndpoints(host: WaitDeps): readonly V2Endpoint[] {
  const { context } = host
  return [
    endpoint(
      v2Routes.startRunPhase,
      async ({ params, body }) =>
        mapResult(await startPhase(context, { phaseId: params.phase_id, ...body }), jsonResponse),
      RUNNER_OPTIONS,
    ),
    endpoint(
      v2Routes.readPhaseConfiguration,
      async (request) => fileResponse(await readPhaseConfiguration(context, phaseCallOf(request))),
      RUNNER_OPTIONS,
    ),
    ...stateEndpoints(host),
    ...fileEndpoints(host),
    endpoint(
      v2Routes.writePhaseLog,
      async (request) => {
        const { query, body } = request
        const call = { ...phaseCallOf(request), offset: query.offset, bytes: body }
        return mapResult(await writePhaseLog(context, call), () => NO_CONTENT)
      },
      RUNNER_OPTIONS,
    ),
    endpoint(
      v2Routes.readPhaseControl,
      (request) => readControlRoute(host, request),
      RUNNER_OPTIONS,
    ),
    endpoint(
      v2Routes.finishRunPhase,
      async (request) => {
        const call = { ...phaseCallOf(request), end: request.body }
        return mapResult(await finishPhase(context, call), () => NO_CONTENT)
      },
      RUNNER_OPTIONS,
    ),
  ]
}

function stateEndpoints({ context }: WaitDeps): readonly V2Endpoint[] {
  return [
    endpoint(
      v2Routes.readPhaseState,
      async (request) => fileResponse(await readPhaseState(context, phaseCallOf(request))),
      RUNNER_OPTIONS,
    ),
    endpoint(
      v2Routes.readRemoteState,
      async (request) => {
        const workspaceName = request.params.workspace_name
        return fileResponse(
          await readRemoteState(context, { ...phaseCallOf(request), workspaceName }),
        )
      },
      RUNNER_OPTIONS,
    ),
    endpoint(
      v2Routes.writePhaseState,
      async (request) => {
        const call = { ...phaseCallOf(request), bytes: request.body }
        return mapResult(await writePhaseState(context, call), () => NO_CONTENT)
      },
      RUNNER_OPTIONS,
    ),
  ]
}

function fileEndpoints({ context }: WaitDeps): readonly V2Endpoint[] {
  return [
    endpoint(
      v2Routes.readPhaseFile,
      async (request) => {
        const visible = findPhase(context, phaseCallOf(request))
        if (!visible.ok) return visible
        const name = fileName(request.params.file_name)
        if (name === undefined) return err(NOT_FOUND)
        return fileResponse(ok(await readRunFile(context, visible.value.run.id, name)))
      },
      RUNNER_OPTIONS,
    ),
    endpoint(
      v2Routes.writePhaseFile,
      async (request) => {
        const name = fileName(request.params.file_name)
        if (name === undefined) return err(NOT_FOUND)
        const call = { ...phaseCallOf(request), name, bytes: request.body }
        return mapResult(await writePhaseFile(context, call), () => NO_CONTENT)
      },
      RUNNER_OPTIONS,
    ),
  ]
}

interface PhaseRequest {
  readonly params: { readonly phase_id: string }
  readonly headers: IncomingHttpHeaders
}

function phaseCallOf({ params, headers }: PhaseRequest): PhaseCall {
  return { phaseId: params.phase_id, token: bearerToken({ headers }) }
}

function fileName(text: string): v2.RunFileName | undefined {
  return v2.RUN_FILES.find((name) => name === text)
}

type FileResult = Awaited<ReturnType<typeof readPhaseConfiguration>>

function fileResponse(found: FileResult): JsonApiResult {
  if (!found.ok) return found
  const bytes = found.value
  if (bytes === undefined) return NO_CONTENT
  return ok({ kind: 'bytes', status: 200, bytes, headers: { 'content-type': v2.BINARY_TYPE } })
}

function jsonResponse(value: object): JsonApiResult {
  const bytes = new TextEncoder().encode(JSON.stringify(value))
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }
  return ok({ kind: 'bytes', status: 200, bytes, headers })
}

const CONTROL_WAIT_SECONDS = 20

async function readControlRoute(
  host: WaitDeps,
  request: V2Request<typeof v2Routes.readPhaseControl>,
): Promise<JsonApiResult> {
  const { context } = host
  const call = phaseCallOf(request)
  const { wait = CONTROL_WAIT_SECONDS, known = 'none' } = request.query
  const findCurrentPhase = () => findPhase(context, call)
  const isOver = (): boolean => {
    const visible = findCurrentPhase()
    return !visible.ok || visible.value.phase.cancellation !== known
  }
  await waitForRow(
    host,
    { table: 'run_phases', key: call.phaseId },
    {
      tenant: request.tenant,
      seconds: wait,
      isDone: isOver,
    },
  )
  return mapResult(findCurrentPhase(), ({ phase }) =>
    jsonResponse({ cancellation: phase.cancellation }),
  )
}

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
  const isDone = (): boolean => hasMore() || isLogComplete(context, found.value)
  await waitForRow(
    host,
    { table: 'run_phases', key: found.value },
    {
      tenant,
      seconds: WAIT_SECONDS,
      isDone,
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

/** Dependencies of reads that wait for a row. */
export interface WaitDeps {
  readonly context: GovernanceContext
  /** Ends waiting reads when the server stops. */
  readonly lifecycle: GracefulShutdown
  readonly parked: ParkedQueries
}

interface RowWait {
  readonly tenant: string
  readonly seconds: number
  readonly isDone: () => boolean
}

/** Waits for changes of a row until the condition holds or the time is up. */
export async function waitForRow(
  { lifecycle, parked }: WaitDeps,
  target: WatchTarget,
  { tenant, seconds, isDone }: RowWait,
): Promise<void> {
  if (isDone()) return
  const handle = lifecycle.openHandle()
  try {
    const limits = { watch: [target], timeoutMs: seconds * 1_000 }
    await parked.waitUntil(tenant, isDone, handle, limits)
  } finally {
    lifecycle.release(handle)
  }
}
