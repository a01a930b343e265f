import type { LiveTasks } from '../../agent/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { AGENT_LABEL, NETWORK_LABEL, HANDLE_LABEL } from './container-spec.ts'
import {
  isSuccess,
  numberAt,
  tryParseJson,
  errorMessageOf,
  stringAt,
  type EngineClient,
} from './engine.ts'

/** A container in the list of the engine. */
export interface ListedContainer {
  readonly id: string
  readonly imageId: string
  readonly createdMs: number
  readonly isRunning: boolean
  /** Handle ID; empty if it is no task. */
  readonly handleId: string
  /** Allocation whose network the container holds; empty if none. */
  readonly networkAllocationId: string
  readonly agentId: string
}

/** All containers of the engine, in any state, of any owner. */
export async function listContainers(engine: EngineClient): Promise<readonly ListedContainer[]> {
  const path = '/containers/json'
  const response = await engine.call({ method: 'GET', path, query: { all: 'true' } })
  if (!isSuccess(response)) throw new Fault('engine', errorMessageOf(response))
  const list = tryParseJson(response.body)
  if (!Array.isArray(list)) throw new Fault('engine', 'the list of containers cannot be read')
  return list.map((entry: unknown) => ({
    id: stringAt(entry, 'Id'),
    imageId: withoutHashPrefix(stringAt(entry, 'ImageID')),
    createdMs: numberAt(entry, 'Created') * 1_000,
    isRunning: stringAt(entry, 'State') === 'running',
    handleId: stringAt(entry, 'Labels', HANDLE_LABEL),
    networkAllocationId: stringAt(entry, 'Labels', NETWORK_LABEL),
    agentId: stringAt(entry, 'Labels', AGENT_LABEL),
  }))
}

/** Image ID without the hash prefix, which not all engines include. */
export function withoutHashPrefix(id: string): string {
  return id.replace(/^sha256:/, '')
}

interface DanglingCriteria {
  readonly agentId: string
  /** What the agent still needs. */
  readonly tasks: Pick<LiveTasks, 'handleIds' | 'allocationIds'>
  readonly nowMs: number
  readonly graceMs: number
  /** False: containers of ended tasks are kept. */
  readonly removesEnded: boolean
}

/**
 * Containers of this agent that it no longer knows: it was killed in between, its engine was
 * unavailable when they should have been removed, or its data directory was deleted.
 */
export function findDangling(
  containers: readonly ListedContainer[],
  { agentId, tasks, nowMs, graceMs, removesEnded }: DanglingCriteria,
): readonly ListedContainer[] {
  return containers.filter((container) => {
    const { handleId, networkAllocationId } = container
    const isOwn = agentId !== '' && container.agentId === agentId
    const isEndedTask =
      handleId !== '' && !tasks.handleIds.has(handleId) && (container.isRunning || removesEnded)
    const isUnusedNetwork =
      networkAllocationId !== '' && !tasks.allocationIds.has(networkAllocationId)
    return isOwn && (isEndedTask || isUnusedNetwork) && nowMs - container.createdMs >= graceMs
  })
}
