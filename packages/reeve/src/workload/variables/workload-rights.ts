import type { AclPolicyRecord, Job } from '@reeve/contract'
import { parseAclRules, resolveGrants, type Grants } from '../../acl/index.ts'
import type { RuleAliases } from '../../compat/index.ts'
import {
  isClientTerminal,
  belongsToWorkload,
  type AllocationRow,
  type Workload,
} from '../../model/index.ts'
import { jobVersionKey, type Tables } from '../../state/index.ts'

/** Permissions of a node's allocations in one namespace. */
interface NodeGrants {
  /** True if the node has an allocation in the namespace, and may read its services. */
  readonly hasAllocations: boolean
  /** Reports whether a variable is readable. */
  readonly mayRead: (path: string) => boolean
}

interface PolicyGrants {
  readonly job: NonNullable<AclPolicyRecord['JobACL']>
  readonly grants: Grants
}

/**
 * Permissions of the allocations of a node: the variables of their own jobs, groups and tasks, and
 * those that policies assigned to these grant. Jobs of other nodes are not included.
 */
export class WorkloadGrants {
  readonly #tables: Tables
  readonly #ruleAliases: RuleAliases | undefined
  #policies: readonly PolicyGrants[] = []
  #policiesIndex = -1

  constructor(tables: Tables, ruleAliases?: RuleAliases) {
    this.#tables = tables
    this.#ruleAliases = ruleAliases
  }

  /** Returns the current permissions of a node in a namespace, for many checks. */
  grantsFor(nodeId: string, namespace: string): NodeGrants {
    const liveAllocations = this.#tables.allocations
      .rowsByIndex('node', nodeId)
      .filter((row) => row.Namespace === namespace && !isClientTerminal(row))
    const workloads = this.#workloads(liveAllocations)
    const policyGrants = new Set(
      workloads.flatMap((workload) => this.#policyGrantsOf(namespace, workload)),
    )
    return {
      hasAllocations: liveAllocations.length > 0,
      mayRead: (path) =>
        workloads.some((workload) => belongsToWorkload(workload, path)) ||
        [...policyGrants].some(({ grants }) => grants.variable(namespace, path, 'read')),
    }
  }

  /** Returns the distinct workloads: a node may run a thousand instances of one group. */
  #workloads(rows: readonly AllocationRow[]): readonly Workload[] {
    const groups = new Map(
      rows.map((row) => {
        const key = jobVersionKey(row.Namespace, row.JobID, row.JobVersion)
        return [JSON.stringify([key, row.TaskGroup]), { key, group: row.TaskGroup }] as const
      }),
    )
    return [...groups.values()].flatMap(({ key, group }) => {
      const job = this.#tables.job_versions.find(key)
      return job === undefined ? [] : workloadsOf(job, group)
    })
  }

  #policyGrantsOf(namespace: string, { jobId, group, task }: Workload): readonly PolicyGrants[] {
    return this.#allPolicyGrants().filter(
      ({ job }) =>
        job.Namespace === namespace &&
        (job.JobID === '' || job.JobID === jobId) &&
        (job.Group === '' || job.Group === group) &&
        (job.Task === '' || job.Task === task),
    )
  }

  #allPolicyGrants(): readonly PolicyGrants[] {
    const { acl_policies: policies } = this.#tables
    if (this.#policiesIndex === policies.lastIndex) return this.#policies
    this.#policiesIndex = policies.lastIndex
    this.#policies = [...policies.rows()].flatMap((policy) => {
      if (policy.JobACL === null) return []
      const token = { Type: 'client', Policies: [policy.Name], Roles: null } as const
      const grants = resolveGrants(token, {
        policyRules: () => {
          const rules = parseAclRules(policy.Rules, this.#ruleAliases)
          return rules.ok ? rules.value : undefined
        },
        rolePolicies: () => undefined,
      })
      return [{ job: policy.JobACL, grants }]
    })
    return this.#policies
  }
}

/**
 * Returns the workloads of a job. Dispatched and periodic children have the permissions of their
 * parent.
 */
function workloadsOf(job: Job, groupName: string): readonly Workload[] {
  const jobId = job.ParentID === '' ? job.ID : job.ParentID
  const group = job.TaskGroups.find((one) => one.Name === groupName)
  return (group?.Tasks ?? []).map((task) => ({ jobId, group: groupName, task: task.Name }))
}
