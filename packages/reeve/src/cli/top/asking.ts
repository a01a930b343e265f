import type { Invocation } from '../command.ts'
import { holdsResources, type ClusterRecords } from './cluster.ts'

/** All that the token may read, unless one is named. */
export function namespaceOf({ settings }: Invocation): string {
  return settings.namespace ?? '*'
}

/** Whom to ask what they use. */
export function measuredOf({ nodes, allocations }: ClusterRecords) {
  return {
    nodes: nodes.filter(({ Status }) => Status === 'ready').map(({ ID }) => ID),
    allocations: allocations.filter((one) => holdsResources(one) && one.ClientStatus === 'running'),
  }
}

/** How many commits back the events begin. */
const COMMITS_BACK = 100

/** Where the events begin that are worth showing. */
export function firstIndex(index: number): number {
  return Math.max(1, index - COMMITS_BACK)
}
