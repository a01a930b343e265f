import type { Job, Namespace } from '@reeve/contract'
import { matchGlob } from '@reeve/kit/glob.ts'
import { refusal, type Refusal } from '../../model/index.ts'
import type { Store } from '../../state/index.ts'

/**
 * Returns the reason for which a namespace rejects a job: it does not exist, or does not allow the
 * job's node pool, drivers or network modes. Undefined if it accepts the job.
 */
export function namespaceRefusal({ tables }: Store, job: Job): Refusal | undefined {
  const namespace = tables.namespaces.find(job.Namespace)
  if (namespace === undefined) {
    const text = `job "${job.ID}" is in nonexistent namespace "${job.Namespace}"`
    return refusal('unknown-namespace', text)
  }
  const problem = tables.node_pools.has(job.NodePool)
    ? namespaceRuleProblem(namespace, job)
    : `job "${job.ID}" is in nonexistent node pool "${job.NodePool}"`
  return problem === undefined ? undefined : refusal('invalid-input', problem)
}

function namespaceRuleProblem(namespace: Namespace, job: Job): string | undefined {
  const { Capabilities: uses, NodePoolConfiguration: pools } = namespace
  const where = `in namespace "${namespace.Name}"`
  if (!isAllowed(job.NodePool, pools?.Allowed, pools?.Denied))
    return `node pool "${job.NodePool}" is not allowed ${where}`
  const tasks = job.TaskGroups.flatMap((group) => group.Tasks)
  const driver = tasks
    .map((task) => task.Driver)
    .find((one) => !isAllowed(one, uses?.EnabledTaskDrivers, uses?.DisabledTaskDrivers))
  if (driver !== undefined) return `used task driver "${driver}" is not allowed ${where}`
  const mode = job.TaskGroups.flatMap((group) => group.Networks ?? [])
    .map((network) => network.Mode || 'host')
    .find((one) => !isAllowed(one, uses?.EnabledNetworkModes, uses?.DisabledNetworkModes))
  return mode === undefined
    ? undefined
    : `used group network mode "${mode}" is not allowed ${where}`
}

/** True if allocations of a namespace may run in the node pool. */
export function isPoolAllowed(namespace: Namespace | undefined, pool: string): boolean {
  const pools = namespace?.NodePoolConfiguration
  return isAllowed(pool, pools?.Allowed, pools?.Denied)
}

type Patterns = readonly string[] | null | undefined

/** Without an allow list everything is allowed; the deny list takes precedence. */
function isAllowed(name: string, allowed: Patterns, denied: Patterns): boolean {
  const matches = (patterns: Patterns): boolean =>
    (patterns ?? []).some((pattern) => matchGlob(pattern, name))
  return (!allowed?.length || matches(allowed)) && !matches(denied)
}
