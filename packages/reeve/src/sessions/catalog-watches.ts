import type { RuleAliases } from '../compat/index.ts'
import type {
  WatchUpdateMessage,
  ServiceRegistration,
  WatchTopic,
  AclPolicyRecord,
  Job,
} from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { parseAclRules, resolveGrants, type Grants } from '../acl/index.ts'
import {
  type AllocationRow,
  belongsToWorkload,
  isClientTerminal,
  LIMITS,
  type Workload,
} from '../model/index.ts'
import {
  namespacedKey,
  joinRowJson,
  type Commit,
  type Store,
  jobVersionKey,
  type Tables,
} from '../state/index.ts'
import type { Sealer } from '../workload/index.ts'
import { openItems } from '../workload/index.ts'
import { listServiceNames } from '../workload/index.ts'

/** A node that watches services and variables for its templates. */
interface CatalogSubscriber {
  readonly nodeId: string
  send(text: string): void
}

interface CatalogHubOptions {
  readonly store: Store
  readonly clock: Clock
  readonly sealer: Sealer
  /** Alternative keywords in ACL policies; none unless given. */
  readonly ruleAliases?: RuleAliases
}

interface CatalogWatch {
  readonly id: number
  readonly what: WatchTopic
  /** The last value sent, to suppress notifications without a change. */
  lastSentJson: string
}

/**
 * Changes are collected for this time: a service that grows by a thousand instances causes few
 * messages.
 */
const DEBOUNCE_MS = 100
/** Maximum number of rows in one message: messages are limited, and templates need no more. */
const MESSAGE_ROWS_MAX = 10_000

/**
 * Sends nodes the services and variables they watch, at once and after each change. A commit costs
 * only the nodes that watch what it wrote. A node receives only data that its allocations may read.
 */
export class CatalogWatches {
  readonly #options: CatalogHubOptions
  readonly #grants: WorkloadGrants
  readonly #watches = new Map<CatalogSubscriber, Map<number, CatalogWatch>>()
  /** Watches by subject. */
  readonly #bySubject = new Map<string, Set<readonly [CatalogSubscriber, CatalogWatch]>>()
  readonly #changedSubjects = new Set<string>()
  readonly #unsubscribe: () => void
  #cancelTimer: (() => void) | undefined

  constructor(options: CatalogHubOptions) {
    this.#options = options
    this.#grants = new WorkloadGrants(options.store.tables, options.ruleAliases)
    this.#unsubscribe = options.store.log.subscribe((commits) => this.#recordChanges(commits))
  }

  /** Starts a watch. Duplicate watches and those above the limit are ignored. */
  watch(reader: CatalogSubscriber, id: number, what: WatchTopic): void {
    const readerWatches = this.#watches.get(reader) ?? new Map<number, CatalogWatch>()
    if (readerWatches.has(id) || readerWatches.size >= LIMITS.nodeWatchesMax) return
    const watch: CatalogWatch = { id, what, lastSentJson: '' }
    this.#watches.set(reader, readerWatches.set(id, watch))
    const subject = watchSubject(what)
    const followers = this.#bySubject.get(subject) ?? new Set()
    this.#bySubject.set(subject, followers.add([reader, watch]))
    void this.#notify(reader, watch)
  }

  unwatch(reader: CatalogSubscriber, id: number): void {
    const readerWatches = this.#watches.get(reader)
    const watch = readerWatches?.get(id)
    if (readerWatches === undefined || watch === undefined) return
    readerWatches.delete(id)
    if (readerWatches.size === 0) this.#watches.delete(reader)
    const subject = watchSubject(watch.what)
    const followers = this.#bySubject.get(subject) ?? new Set()
    for (const entry of followers) if (entry[1] === watch) followers.delete(entry)
    if (followers.size === 0) this.#bySubject.delete(subject)
  }

  /** Ends the watches of a node whose channel has closed. */
  onSessionClosed(reader: CatalogSubscriber): void {
    const ids = [...(this.#watches.get(reader)?.keys() ?? [])]
    for (const id of ids) this.unwatch(reader, id)
  }

  close(): void {
    this.#unsubscribe()
    this.#cancelTimer?.()
    this.#watches.clear()
    this.#bySubject.clear()
  }

  #recordChanges(commits: readonly Commit[]): void {
    if (this.#bySubject.size === 0) return
    for (const { rows } of commits)
      for (const { table, text } of rows)
        if (table === 'service_registrations' || table === 'variables')
          for (const subject of rowSubjects(table, joinRowJson(text)))
            if (this.#bySubject.has(subject)) this.#changedSubjects.add(subject)
    if (this.#changedSubjects.size > 0)
      this.#cancelTimer ??= this.#options.clock.after(DEBOUNCE_MS, () => this.#notifyChanged())
  }

  #notifyChanged(): void {
    this.#cancelTimer = undefined
    const due = [...this.#changedSubjects]
    this.#changedSubjects.clear()
    for (const subject of due)
      for (const [reader, watch] of this.#bySubject.get(subject) ?? [])
        void this.#notify(reader, watch)
  }

  async #notify(reader: CatalogSubscriber, watch: CatalogWatch): Promise<void> {
    const { store } = this.#options
    const snapshot = await this.#snapshotFor(reader.nodeId, watch)
    const json = JSON.stringify(snapshot)
    try {
      // Changes are sent only once they are durable.
      await store.whenDurable()
    } catch {
      // The storage has failed: the node watches again on another server, or on this one when it
      // recovers.
      return
    }
    if (this.#watches.get(reader)?.get(watch.id) !== watch || watch.lastSentJson === json) return
    watch.lastSentJson = json
    reader.send(json)
  }

  async #snapshotFor(nodeId: string, { id, what }: CatalogWatch): Promise<WatchUpdateMessage> {
    const { tables } = this.#options.store
    const { namespace } = what
    const kind = 'facts'
    switch (what.topic) {
      case 'service': {
        const isOpen = this.#grants.grantsFor(nodeId, namespace).hasAllocations
        const group = namespacedKey(namespace, what.name)
        const rows = isOpen ? tables.service_registrations.rowsByIndex('service', group) : []
        return { kind, id, instances: rows.slice(0, MESSAGE_ROWS_MAX).map(withoutChecks) }
      }
      case 'services':
        return { kind, id, names: await this.#names(nodeId, namespace) }
      case 'variable':
        return { kind, id, items: this.#items(nodeId, what) }
      case 'variables':
        return { kind, id, paths: this.#paths(nodeId, what) }
    }
  }

  async #names(nodeId: string, namespace: string) {
    if (!this.#grants.grantsFor(nodeId, namespace).hasAllocations) return []
    const [list] = await listServiceNames(this.#options.store.tables, {
      namespaces: [namespace],
      yieldToEventLoop: () => new Promise((resolve) => setImmediate(resolve)),
    })
    const names = list?.Services.map(({ ServiceName, Tags }) => ({ name: ServiceName, tags: Tags }))
    return names?.slice(0, MESSAGE_ROWS_MAX) ?? []
  }

  #items(nodeId: string, { namespace, path }: PathTopic) {
    const { store, sealer } = this.#options
    if (!this.#grants.grantsFor(nodeId, namespace).mayRead(path)) return null
    const row = store.tables.variables.find(namespacedKey(namespace, path))
    return row === undefined ? null : openItems(sealer, row)
  }

  #paths(nodeId: string, { namespace, path }: PathTopic): readonly string[] {
    const prefix = namespacedKey(namespace, path)
    const grants = this.#grants.grantsFor(nodeId, namespace)
    const paths: string[] = []
    let scanned = 0
    for (const key of this.#options.store.tables.variables.keys(prefix)) {
      if (!key.startsWith(prefix) || scanned++ === MESSAGE_ROWS_MAX) break
      const found = key.slice(namespace.length + 1)
      if (grants.mayRead(found)) paths.push(found)
    }
    return paths
  }
}

/** Returns the registration without its check results, which templates do not read. */
function withoutChecks(row: ServiceRegistration): ServiceRegistration {
  const { Checks: _checks, ...rest } = row
  return { ...rest, ModifyIndex: row.CreateIndex }
}

type PathTopic = Extract<WatchTopic, { readonly path: string }>

/**
 * Returns the key of the index of watches. Variables are indexed by namespace, because a prefix can
 * be anything.
 */
function watchSubject(what: WatchTopic): string {
  switch (what.topic) {
    case 'service':
      return `service ${namespacedKey(what.namespace, what.name)}`
    case 'variable':
      return `variable ${namespacedKey(what.namespace, what.path)}`
    default:
      return `${what.topic} ${what.namespace}`
  }
}

function rowSubjects(table: string, body: string): readonly string[] {
  // The text of a row of one of the two tables; for a deleted row its last one.
  const row = JSON.parse(body) as {
    readonly Namespace: string
    readonly ServiceName?: string
    readonly Path?: string
  } | null
  if (row === null) return []
  const namespace = row.Namespace
  return table === 'variables'
    ? [`variable ${namespacedKey(namespace, row.Path ?? '')}`, `variables ${namespace}`]
    : [`service ${namespacedKey(namespace, row.ServiceName ?? '')}`, `services ${namespace}`]
}

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
class WorkloadGrants {
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
