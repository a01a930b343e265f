import { v2 } from '@reeve/contract'
import type { IncomingHttpHeaders } from 'node:http'
import {
  findPhase,
  finishPhase,
  readPhaseConfiguration,
  readPhaseState,
  readRunFile,
  startPhase,
  writePhaseFile,
  writePhaseLog,
  writePhaseState,
  type PhaseCall,
} from '../../governance/index.ts'
import { err, ok } from '@reeve/kit/result.ts'
import { UNSEEN } from '../../model/index.ts'
import { answer, NO_CONTENT } from './documents.ts'
import { endpoint, type Outcome, type V2Endpoint, type V2Request } from './endpoint.ts'
import { waitForRow, type WaitHost } from './row-waits.ts'

const { v2Routes } = v2

/** Runners authenticate with the token of their phase, which is no token of this API. */
const RUNNER = { isOpen: true, isUnlimited: true } as const

/** Returns the routes for the runner of a phase. */
export function runPhaseEndpoints(host: WaitHost): readonly V2Endpoint[] {
  const { context } = host
  return [
    endpoint(
      v2Routes.startRunPhase,
      async ({ params, body }) =>
        answer(await startPhase(context, { phaseId: params.phase_id, ...body }), json),
      RUNNER,
    ),
    endpoint(
      v2Routes.readPhaseConfiguration,
      async (request) => fileAnswer(await readPhaseConfiguration(context, callOf(request))),
      RUNNER,
    ),
    ...stateEndpoints(host),
    ...fileEndpoints(host),
    endpoint(
      v2Routes.writePhaseLog,
      async (request) => {
        const { query, body } = request
        const call = { ...callOf(request), offset: query.offset, bytes: body }
        return answer(await writePhaseLog(context, call), () => NO_CONTENT)
      },
      RUNNER,
    ),
    endpoint(v2Routes.readPhaseControl, (request) => readControl(host, request), RUNNER),
    endpoint(
      v2Routes.finishRunPhase,
      async (request) => {
        const call = { ...callOf(request), end: request.body }
        return answer(await finishPhase(context, call), () => NO_CONTENT)
      },
      RUNNER,
    ),
  ]
}

function stateEndpoints({ context }: WaitHost): readonly V2Endpoint[] {
  return [
    endpoint(
      v2Routes.readPhaseState,
      async (request) => fileAnswer(await readPhaseState(context, callOf(request))),
      RUNNER,
    ),
    endpoint(
      v2Routes.writePhaseState,
      async (request) => {
        const call = { ...callOf(request), bytes: request.body }
        return answer(await writePhaseState(context, call), () => NO_CONTENT)
      },
      RUNNER,
    ),
  ]
}

function fileEndpoints({ context }: WaitHost): readonly V2Endpoint[] {
  return [
    endpoint(
      v2Routes.readPhaseFile,
      async (request) => {
        const seen = findPhase(context, callOf(request))
        if (!seen.ok) return seen
        const name = fileName(request.params.file_name)
        if (name === undefined) return err(UNSEEN)
        return fileAnswer(ok(await readRunFile(context, seen.value.run.id, name)))
      },
      RUNNER,
    ),
    endpoint(
      v2Routes.writePhaseFile,
      async (request) => {
        const name = fileName(request.params.file_name)
        if (name === undefined) return err(UNSEEN)
        const call = { ...callOf(request), name, bytes: request.body }
        return answer(await writePhaseFile(context, call), () => NO_CONTENT)
      },
      RUNNER,
    ),
  ]
}

interface PhaseRequest {
  readonly params: { readonly phase_id: string }
  readonly headers: IncomingHttpHeaders
}

function callOf({ params, headers }: PhaseRequest): PhaseCall {
  const [scheme = '', token] = (headers.authorization ?? '').split(' ')
  const isBearer = scheme.toLowerCase() === 'bearer'
  return { phaseId: params.phase_id, token: isBearer ? token : undefined }
}

function fileName(text: string): v2.RunFileName | undefined {
  return v2.RUN_FILES.find((name) => name === text)
}

type Found = Awaited<ReturnType<typeof readPhaseConfiguration>>

function fileAnswer(found: Found): Outcome {
  if (!found.ok) return found
  const bytes = found.value
  if (bytes === undefined) return NO_CONTENT
  return ok({ kind: 'bytes', status: 200, bytes, headers: { 'content-type': v2.OCTETS_TYPE } })
}

function json(value: object): Outcome {
  const bytes = new TextEncoder().encode(JSON.stringify(value))
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }
  return ok({ kind: 'bytes', status: 200, bytes, headers })
}

const CONTROL_WAIT_SECONDS = 20

async function readControl(
  host: WaitHost,
  request: V2Request<typeof v2Routes.readPhaseControl>,
): Promise<Outcome> {
  const { context } = host
  const call = callOf(request)
  const { wait = CONTROL_WAIT_SECONDS, known = 'none' } = request.query
  const find = () => findPhase(context, call)
  const isOver = (): boolean => {
    const seen = find()
    return !seen.ok || seen.value.phase.cancellation !== known
  }
  await waitForRow(
    host,
    { table: 'run_phases', key: call.phaseId },
    {
      tenant: request.tenant,
      seconds: wait,
      isOver,
    },
  )
  return answer(find(), ({ phase }) => json({ cancellation: phase.cancellation }))
}
