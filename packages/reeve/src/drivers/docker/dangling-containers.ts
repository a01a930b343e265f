import type { NodeTasks } from '../../agent/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { AGENT_LABEL, NETWORK_LABEL, START_LABEL } from './container-spec.ts'
import { isSuccess, numberAt, parsed, refusalText, textAt, type Engine } from './engine.ts'

/** What the engine says of a container in a list. */
export interface ListedContainer {
  readonly id: string
  readonly imageId: string
  readonly createdMs: number
  readonly isRunning: boolean
  /** Empty: it is no task. */
  readonly startId: string
  /** The allocation whose network it holds; empty: none. */
  readonly networkOf: string
  readonly agentId: string
}

/** All containers of the engine, whoever made them, in whatever state. */
export async function listContainers(engine: Engine): Promise<readonly ListedContainer[]> {
  const path = '/containers/json'
  const answer = await engine.call({ method: 'GET', path, query: { all: 'true' } })
  if (!isSuccess(answer)) throw new Fault('engine', refusalText(answer))
  const list = parsed(answer.text)
  if (!Array.isArray(list)) throw new Fault('engine', 'the list of containers cannot be read')
  return list.map((entry: unknown) => ({
    id: textAt(entry, 'Id'),
    imageId: plainId(textAt(entry, 'ImageID')),
    createdMs: numberAt(entry, 'Created') * 1_000,
    isRunning: textAt(entry, 'State') === 'running',
    startId: textAt(entry, 'Labels', START_LABEL),
    networkOf: textAt(entry, 'Labels', NETWORK_LABEL),
    agentId: textAt(entry, 'Labels', AGENT_LABEL),
  }))
}

/** Engines differ in whether the kind of hash is part of an id. */
export function plainId(id: string): string {
  return id.replace(/^sha256:/, '')
}

interface DanglingRules {
  readonly agentId: string
  /** What the agent knows. */
  readonly tasks: Pick<NodeTasks, 'starts' | 'allocations'>
  readonly nowMs: number
  readonly graceMs: number
  /** False: those that have ended are kept on purpose. */
  readonly removesEnded: boolean
}

/**
 * Those that this agent started and does not know any more: it was killed in between, its engine
 * was away when they should have been removed, or its data directory was.
 */
export function findDangling(
  containers: readonly ListedContainer[],
  { agentId, tasks, nowMs, graceMs, removesEnded }: DanglingRules,
): readonly ListedContainer[] {
  return containers.filter((one) => {
    const { startId, networkOf } = one
    const isOurs = agentId !== '' && one.agentId === agentId
    const isEndedTask =
      startId !== '' && !tasks.starts.has(startId) && (one.isRunning || removesEnded)
    const isUnusedNetwork = networkOf !== '' && !tasks.allocations.has(networkOf)
    return isOurs && (isEndedTask || isUnusedNetwork) && nowMs - one.createdMs >= graceMs
  })
}
