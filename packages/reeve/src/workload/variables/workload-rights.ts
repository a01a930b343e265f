import type { AclPolicyRecord, Job } from '@reeve/contract'
import { parseAclRules, resolveGrants, type Grants } from '../../acl/index.ts'
import {
  isClientTerminal,
  isOwnVariable,
  type AllocationRow,
  type Workload,
} from '../../model/index.ts'
import { jobVersionKey, type Tables } from '../../state/index.ts'

interface JobGrants {
  readonly job: NonNullable<AclPolicyRecord['JobACL']>
  readonly grants: Grants
}

/**
 * What the allocations of a node may read (reference §8.9): the variables of their own jobs, groups
 * and tasks, and what policies that are bound to those say. Nothing of another node's jobs.
 */
export class WorkloadRights {
  readonly #tables: Tables
  #policies: readonly JobGrants[] = []
  #policiesIndex = -1

  constructor(tables: Tables) {
    this.#tables = tables
  }

  /** Whether the node runs something in the namespace: then it may know its services. */
  runsIn(nodeId: string, namespace: string): boolean {
    return this.#live(nodeId, namespace).length > 0
  }

  mayReadVariable(nodeId: string, namespace: string, path: string): boolean {
    return this.#live(nodeId, namespace).some((row) => this.#mayRead(row, path))
  }

  #live(nodeId: string, namespace: string): readonly AllocationRow[] {
    return this.#tables.allocations
      .rowsIn('node', nodeId)
      .filter((row) => row.Namespace === namespace && !isClientTerminal(row))
  }

  #mayRead(row: AllocationRow, path: string): boolean {
    const key = jobVersionKey(row.Namespace, row.JobID, row.JobVersion)
    const job = this.#tables.job_versions.find(key)
    if (job === undefined) return false
    return workloadsOf(job, row.TaskGroup).some(
      (workload) =>
        isOwnVariable(workload, path) ||
        this.#bound(row.Namespace, workload).some(({ grants }) =>
          grants.variable(row.Namespace, path, 'read'),
        ),
    )
  }

  #bound(namespace: string, { jobId, group, task }: Workload): readonly JobGrants[] {
    return this.#jobGrants().filter(
      ({ job }) =>
        job.Namespace === namespace &&
        (job.JobID === '' || job.JobID === jobId) &&
        (job.Group === '' || job.Group === group) &&
        (job.Task === '' || job.Task === task),
    )
  }

  #jobGrants(): readonly JobGrants[] {
    const { acl_policies: policies } = this.#tables
    if (this.#policiesIndex === policies.lastIndex) return this.#policies
    this.#policiesIndex = policies.lastIndex
    this.#policies = [...policies.rows()].flatMap((policy) => {
      if (policy.JobACL === null) return []
      const token = { Type: 'client', Policies: [policy.Name], Roles: null } as const
      const grants = resolveGrants(token, {
        policyRules: () => {
          const rules = parseAclRules(policy.Rules)
          return rules.ok ? rules.value : undefined
        },
        rolePolicies: () => undefined,
      })
      return [{ job: policy.JobACL, grants }]
    })
    return this.#policies
  }
}

/** Jobs that were dispatched or launched by time have what their parent has. */
function workloadsOf(job: Job, groupName: string): readonly Workload[] {
  const jobId = job.ParentID === '' ? job.ID : job.ParentID
  const group = job.TaskGroups.find((one) => one.Name === groupName)
  return (group?.Tasks ?? []).map((task) => ({ jobId, group: groupName, task: task.Name }))
}
