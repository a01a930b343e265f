import { sleep, type TaskHandle } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { HANDLE_LABEL } from './container-spec.ts'
import { removeContainer } from './docker-task.ts'
import {
  errorMessageOf,
  isSuccess,
  stringAt,
  tryParseJson,
  type EngineClient,
} from './engine-client.ts'

/** Creates the container of a start and returns its ID. */
export async function createTaskContainer(
  engine: EngineClient,
  handle: TaskHandle,
  spec: Readonly<Record<string, unknown>>,
): Promise<string> {
  const call = {
    method: 'POST',
    path: '/containers/create',
    query: { name: `reeve-${handle.id}` },
    body: spec,
  } as const
  let response = await engine.call(call)
  // Every start has a unique name: a conflict is a remains of the same start.
  if (response.status === 409 && (await removeTaskContainers(engine, handle)) > 0) {
    response = await engine.call(call)
  }
  if (isSuccess(response)) return stringAt(tryParseJson(response.body), 'Id')
  const kind =
    response.status === 400 || response.status === 404 ? 'task-unstartable' : 'task-start'
  throw new Fault(kind, `the container cannot be made: ${errorMessageOf(response)}`)
}

export async function startContainer(engine: EngineClient, containerId: string): Promise<void> {
  const path = `/containers/${containerId}/start`
  const response = await engine.call({ method: 'POST', path })
  // 304: it is already running.
  if (isSuccess(response) || response.status === 304) return
  const message = errorMessageOf(response)
  const kind = UNSTARTABLE_ERROR.test(message) ? 'task-unstartable' : 'task-start'
  throw new Fault(kind, `the container cannot be started: ${message}`)
}

/** Errors that a retry would hit again. */
const UNSTARTABLE_ERROR =
  /executable file|no such file|not found|permission denied|exec format|unable to find user|no matching entries|not a directory/i

/** All containers of a start, as the engine lists them. */
export async function findTaskContainers(
  engine: EngineClient,
  handle: TaskHandle,
): Promise<readonly unknown[]> {
  const filters = JSON.stringify({ label: [`${HANDLE_LABEL}=${handle.id}`] })
  const call = {
    method: 'GET',
    path: '/containers/json',
    query: { all: 'true', filters },
  } as const
  const response = await engine.call(call)
  if (!isSuccess(response)) throw new Fault('engine', errorMessageOf(response))
  const containers = tryParseJson(response.body)
  return Array.isArray(containers) ? containers : []
}

/** Removes all containers of a start and returns their number. */
export async function removeTaskContainers(
  engine: EngineClient,
  handle: TaskHandle,
): Promise<number> {
  const containers = await findTaskContainers(engine, handle)
  for (const container of containers) await removeContainer(engine, stringAt(container, 'Id'))
  return containers.length
}

/**
 * How long to wait for an engine that became unavailable during a start, to remove what it may have
 * started. Afterwards the remains count as a dangling container.
 */
const CLEANUP_TIMEOUT_MS = 30_000
const CLEANUP_RETRY_DELAY_MS = 1_000

/**
 * Removes containers of a failed start: an engine that became unavailable may have started one.
 */
export async function removeFailedStart(
  engine: EngineClient,
  handle: TaskHandle,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  const endMs = clock.monotonicMs() + CLEANUP_TIMEOUT_MS
  for (;;) {
    const isRemoved = await removeTaskContainers(engine, handle).then(
      () => true,
      () => false,
    )
    if (isRemoved || clock.monotonicMs() > endMs) return
    if (!(await sleep(clock, CLEANUP_RETRY_DELAY_MS, signal))) return
  }
}
