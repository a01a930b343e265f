import type { CommandContext } from '../command.ts'
import { holdsResources, type ClusterRecords } from './cluster.ts'

/** Returns the namespace to query; all by default. */
export function queriedNamespace({ settings }: CommandContext): string {
  return settings.namespace ?? '*'
}

/** Returns the nodes and allocations whose usage can be measured. */
export function measurableTargets({ nodes, allocations }: ClusterRecords) {
  return {
    nodes: nodes.filter(({ Status }) => Status === 'ready').map(({ ID }) => ID),
    allocations: allocations.filter((one) => holdsResources(one) && one.ClientStatus === 'running'),
  }
}

/** Number of past commits whose events are shown. */
const COMMITS_BACK = 100

/** Returns the index at which the event stream starts. */
export function firstEventIndex(index: number): number {
  return Math.max(1, index - COMMITS_BACK)
}
