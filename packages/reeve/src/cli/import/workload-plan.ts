import {
  selectImportedFields,
  mergePlans,
  planRecord,
  type Fields,
  type ImportPlan,
  type Item,
  type PartialPlan,
  type RecordRules,
} from './import-plan.ts'
import type { JobRecord, JobVersionRecord, WorkloadInventory } from './workload-inventory.ts'

export type WorkloadWrite =
  | { readonly type: 'namespace'; readonly body: Fields }
  | { readonly type: 'node-pool'; readonly body: Fields }
  | { readonly type: 'acl-policy'; readonly body: Fields }
  /** Without an id the role is new. */
  | { readonly type: 'acl-role'; readonly id: string | undefined; readonly body: Fields }
  | {
      readonly type: 'variable'
      readonly namespace: string
      readonly path: string
      readonly items: Fields
      readonly isNew: boolean
    }
  /** The versions are registered in order. */
  | { readonly type: 'job'; readonly versions: readonly JobWrite[] }

export interface JobWrite extends JobVersionRecord {
  /** Registered as a stopped job. */
  readonly isStopped: boolean
}

/** The state of a source job at the target. */
export interface JobCheck {
  /** Undefined if the target does not have the job. */
  readonly existing:
    | {
        readonly isStopped: boolean
        /** Index of the newest source version that equals the target's job. */
        readonly equals: number | undefined
        /** Differences between the newest source version and the target's job. */
        readonly differences: readonly FieldChange[]
      }
    | undefined
  /** Why the target would reject the newest version. */
  readonly rejection: string | undefined
}

export interface FieldChange {
  readonly field: string
  readonly source: unknown
  readonly target: unknown
}

export interface WorkloadImport {
  readonly source: WorkloadInventory
  readonly target: Omit<WorkloadInventory, 'jobs' | 'childJobs'>
  /** By namespace and ID, such as `prod/api`. */
  readonly checks: ReadonlyMap<string, JobCheck>
  /** Overwrite differing values of the target. */
  readonly overwrite: boolean
  /** Start new jobs; otherwise they are registered as stopped. */
  readonly start: boolean
}

const INDEXES = ['Hash', 'CreateIndex', 'ModifyIndex'] as const

const NAMESPACE: RecordRules = {
  kind: 'namespace',
  importedFields: ['Name', 'Description', 'Capabilities', 'NodePoolConfiguration', 'Meta'],
  ignoredFields: INDEXES,
  reasons: { Quota: 'There are no quotas; a policy can limit what jobs ask for.' },
}
const NODE_POOL: RecordRules = {
  kind: 'node-pool',
  importedFields: ['Name', 'Description', 'Meta', 'SchedulerConfiguration'],
  ignoredFields: INDEXES,
}
const ACL_POLICY: RecordRules = {
  kind: 'acl-policy',
  importedFields: ['Name', 'Description', 'Rules', 'JobACL'],
  ignoredFields: [...INDEXES, 'RulesJSON'],
}
const ACL_ROLE: RecordRules = {
  kind: 'acl-role',
  importedFields: ['Name', 'Description', 'Policies'],
  ignoredFields: [...INDEXES, 'ID'],
}

/** Built-in pools exist everywhere and cannot be changed. */
const BUILT_IN_POOLS: ReadonlySet<unknown> = new Set(['default', 'all'])

/** Compares two workload installations. Pure: equal inventories give equal plans. */
export function planWorkload(input: WorkloadImport): ImportPlan<WorkloadWrite> {
  const { source, target } = input
  const pools = source.nodePools.filter(({ Name }) => !BUILT_IN_POOLS.has(Name))
  return mergePlans<WorkloadWrite>([
    { omissions: source.gaps },
    // Ordered by reference: namespaces refer to pools, roles to policies.
    ...planByName(pools, (record) =>
      planNamed(input, NODE_POOL, { record, others: target.nodePools }),
    ),
    ...planByName(source.namespaces, (record) =>
      planNamed(input, NAMESPACE, { record, others: target.namespaces }),
    ),
    ...planByName(source.aclPolicies, (record) =>
      planNamed(input, ACL_POLICY, { record, others: target.aclPolicies }),
    ),
    ...planByName(source.aclRoles, (record) => planRole(input, record)),
    ...planVariables(input),
    ...source.jobs.map((job) => planJob(input, job)),
    childrenPart(source.childJobs),
    tokensPart(source.aclTokens),
  ])
}

function nameOf({ Name }: Fields): string {
  return typeof Name === 'string' ? Name : ''
}

function planByName<T>(records: readonly Fields[], plan: (record: Fields) => T): readonly T[] {
  return records.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)).map(plan)
}

function planNamed(
  { overwrite }: WorkloadImport,
  rules: RecordRules & { readonly kind: string },
  { record, others }: { readonly record: Fields; readonly others: readonly Fields[] },
): PartialPlan<WorkloadWrite> {
  const body = selectImportedFields(rules, record)
  // Proof: these three kinds are written by name.
  const type = rules.kind as 'namespace' | 'node-pool' | 'acl-policy'
  return planRecord<WorkloadWrite>(rules, {
    name: nameOf(record),
    source: record,
    target: others.find((other) => nameOf(other) === nameOf(record)),
    overwrite,
    write: { type, body },
  })
}

function planRole({ target, overwrite }: WorkloadImport, role: Fields): PartialPlan<WorkloadWrite> {
  const other = target.aclRoles.find((one) => nameOf(one) === nameOf(role))
  // Links contain policy names; some installations add IDs.
  const source = { ...role, Policies: linkNames(role['Policies']) }
  const id = typeof other?.['ID'] === 'string' ? other['ID'] : undefined
  return planRecord<WorkloadWrite>(ACL_ROLE, {
    name: nameOf(role),
    source,
    target: other && { ...other, Policies: linkNames(other['Policies']) },
    overwrite,
    write: { type: 'acl-role', id, body: selectImportedFields(ACL_ROLE, source) },
  })
}

function linkNames(links: unknown): readonly Fields[] {
  if (!Array.isArray(links)) return []
  return links
    .map((link: Fields) => ({ Name: nameOf(link) }))
    .toSorted((a, b) => (a.Name < b.Name ? -1 : 1))
}

function planVariables({
  source,
  target,
  overwrite,
}: WorkloadImport): readonly PartialPlan<WorkloadWrite>[] {
  const keyOf = ({ namespace, path }: { namespace: string; path: string }) => `${namespace}/${path}`
  const known = new Map(target.variables.map((variable) => [keyOf(variable), variable]))
  return source.variables.map((variable): PartialPlan<WorkloadWrite> => {
    const { namespace, path, items, isLocked } = variable
    const item = { kind: 'variable', name: keyOf(variable) }
    const omissions = isLocked
      ? [
          {
            ...item,
            field: 'Lock',
            reason: 'A lock belongs to its holder, who has to take it again.',
          },
        ]
      : []
    if (items === undefined) {
      const reason = 'The token may not read its values: set them with "reeve var put".'
      return { omissions, secrets: [{ ...item, reason }] }
    }
    const other = known.get(item.name)
    const rules = {
      kind: 'variable',
      importedFields: [...new Set([...Object.keys(items), ...Object.keys(other?.items ?? {})])],
      ignoredFields: [],
      isHidden: true,
    }
    const write = { type: 'variable', namespace, path, items, isNew: other === undefined } as const
    const pair = { name: item.name, source: items, overwrite, write }
    const part = planRecord<WorkloadWrite>(rules, { ...pair, target: other && (other.items ?? {}) })
    return { ...part, omissions }
  })
}

function planJob(input: WorkloadImport, job: JobRecord): PartialPlan<WorkloadWrite> {
  const item: Item = { kind: 'job', name: `${job.namespace}/${job.id}` }
  const check = input.checks.get(item.name)
  const newest = job.versions.length - 1
  if (check === undefined || newest < 0)
    return { omissions: [{ ...item, reason: 'The source has no version of it any more.' }] }
  if (check.rejection !== undefined) return { omissions: [{ ...item, reason: check.rejection }] }
  const { existing } = check
  if (existing === undefined) return jobPart(input, item, { versions: job.versions, do: 'create' })
  if (existing.equals === newest) return { unchanged: [item] }
  // An interrupted import continues after the last written version.
  if (existing.equals !== undefined && existing.isStopped)
    return jobPart(input, item, { versions: job.versions.slice(existing.equals + 1), do: 'create' })
  const differences = existing.differences.map((change) => ({ ...item, ...change }))
  if (!input.overwrite) return { differences }
  const latest = jobPart(input, item, {
    versions: job.versions.slice(-1),
    do: 'update',
    isStopped: existing.isStopped,
  })
  return { ...latest, differences }
}

interface JobWrites {
  readonly versions: readonly JobVersionRecord[]
  readonly do: 'create' | 'update'
  /** For updates: whether the target's job is stopped. */
  readonly isStopped?: boolean
}

function jobPart(
  { start }: WorkloadImport,
  item: Item,
  { versions, do: verb, isStopped = false }: JobWrites,
): PartialPlan<WorkloadWrite> {
  const last = versions.length - 1
  const written = versions.map((version, i) => ({
    ...version,
    // Only the newest version may run; an updated job keeps its state.
    isStopped:
      verb === 'update' ? isStopped : !(start && i === last) || version.job['Stop'] === true,
  }))
  const note = versions.length === 1 ? '1 version' : `${versions.length} versions`
  const missing = versions.filter(({ submission }) => submission === undefined).length
  const omissions =
    missing === 0
      ? []
      : [
          {
            ...item,
            field: 'Submission',
            reason: `The source does not keep the job file of ${missing} of ${note}.`,
          },
        ]
  const write = { type: 'job', versions: written } as const
  return { actions: [{ ...item, do: verb, details: note, write }], omissions }
}

function childrenPart(names: readonly string[]): PartialPlan<WorkloadWrite> {
  const reason = 'It was launched by its parent, which launches its own here.'
  return { omissions: names.map((name) => ({ kind: 'job', name, reason })) }
}

function tokensPart(tokens: readonly Fields[]): PartialPlan<WorkloadWrite> {
  return {
    secrets: tokens.map((token) => ({
      kind: 'acl-token',
      name: nameOf(token) || String(token['AccessorID']),
      reason: 'Secrets of tokens are not shown: create one with "reeve acl token create".',
    })),
  }
}
