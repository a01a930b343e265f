import type { Namespace, NamespaceRequest } from '@reeve/contract'
import { namespaceHash, validateNamespace } from '../acl/index.ts'
import { formatMultiError } from '@reeve/kit/multi-error.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type Refusal } from '../model/index.ts'
import {
  namespacedKey,
  put,
  remove,
  scopedKey,
  type Author,
  type Change,
  type Store,
} from '../state/index.ts'
import type { WorkloadContext } from './context.ts'
import { textMap } from './text-map.ts'
import { usesElsewhere, usesTexts } from './uses-elsewhere.ts'

export const NAMESPACE_NOT_FOUND: Refusal = refusal('namespace-not-found', 'Namespace not found')

const DEFAULT = 'default'
/** The query for jobs that are not over. */
const LIVE = new URLSearchParams({ filter: 'Status != "dead"' }).toString()

/** Creates or replaces a namespace. */
export async function writeNamespace(
  { store }: WorkloadContext,
  { by }: Author,
  request: NamespaceRequest,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const row = namespaceRow(request)
  const problem = validateNamespace(row)
  if (problem !== undefined) return err(refusal('invalid-input', problem))
  const { index, durable } = store.commit({
    by,
    cause: undefined,
    changes: () => [put('namespaces', row)],
  })
  await durable
  return ok({ index })
}

/** The namespace in its canonical form: what the request leaves out has its default. */
export function namespaceRow(request: NamespaceRequest): Namespace {
  const { Capabilities: uses, NodePoolConfiguration: pools } = request
  const namespace = {
    Name: request.Name ?? '',
    Description: request.Description ?? '',
    Quota: request.Quota ?? '',
    Capabilities: uses
      ? {
          EnabledTaskDrivers: uses.EnabledTaskDrivers ?? null,
          DisabledTaskDrivers: uses.DisabledTaskDrivers ?? null,
          EnabledNetworkModes: uses.EnabledNetworkModes ?? null,
          DisabledNetworkModes: uses.DisabledNetworkModes ?? null,
        }
      : null,
    NodePoolConfiguration: pools
      ? {
          Default: pools.Default || DEFAULT,
          Allowed: pools.Allowed ?? null,
          Denied: pools.Denied ?? null,
        }
      : null,
    Meta: textMap(request.Meta),
  }
  return { ...namespace, Hash: namespaceHash(namespace), CreateIndex: 0, ModifyIndex: 0 }
}

/** Only what nothing lives in goes; dead jobs stay until they are collected. */
export async function deleteNamespace(
  context: WorkloadContext,
  { by }: Author,
  name: string,
  secret?: string,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const { store, region } = context
  if (name === DEFAULT) return err(refusal('invalid-input', 'can not delete default namespace'))
  const url = `/v1/jobs?namespace=${encodeURIComponent(name)}&per_page=1&${LIVE}`
  const elsewhere = await usesElsewhere(context, secret, [{ what: 'non-terminal jobs', url }])
  // From here to the commit nothing waits.
  if (!store.tables.namespaces.has(name)) return err(NAMESPACE_NOT_FOUND)
  const uses = usesTexts(region, usesOf(store, name), elsewhere).map(
    (use) => `namespace "${name}" has ${use}`,
  )
  if (uses.length > 0) return err(refusal('namespace-in-use', formatMultiError(uses)))
  const forgotten = governanceEnd(store, name)
  const { index, durable } = store.commit({
    by,
    // Whoever follows those records hears of it; a namespace itself has no topic.
    cause: forgotten.length > 0 ? 'OrganizationUpdated' : undefined,
    changes: () => [...forgotten, ...verdictsEnd(store, name), remove('namespaces', name)],
  })
  await durable
  return ok({ index })
}

/** The project and the policy sets that name a namespace forget it: a later one is another one. */
function governanceEnd({ tables }: Store, namespace: string): readonly Change[] {
  const ends: Change[] = []
  const project = tables.projects.find(tables.project_namespaces.find(namespace)?.projectId ?? '')
  if (project !== undefined)
    ends.push(remove('project_namespaces', namespace), put('projects', project))
  const group = scopedKey('namespaces', namespace)
  for (const key of tables.policy_set_members.keysIn('member', group)) {
    const set = tables.policy_sets.get(tables.policy_set_members.get(key).policySetId)
    ends.push(remove('policy_set_members', key), put('policy_sets', set))
  }
  return ends
}

/** A few hundred at most. Jobs that were denied may hold what only their people should see. */
function verdictsEnd({ tables }: Store, namespace: string): readonly Change[] {
  const keys = tables.policy_verdicts.keysIn('namespace', namespace)
  return [...keys].map((key) => remove('policy_verdicts', key))
}

function usesOf(store: Store, namespace: string): readonly string[] {
  const { jobs } = store.tables
  const hasJobs = jobs.countIn('live', namespace) > 0
  return [
    ...(hasJobs ? ['non-terminal jobs'] : []),
    ...(hasLiveAllocations(store, namespace) ? ['non-terminal allocations'] : []),
    ...(store.tables.variables.countIn('namespace', namespace) > 0 ? ['variables'] : []),
    ...(store.tables.host_volumes.countIn('namespace', namespace) > 0 ? ['host volumes'] : []),
  ]
}

/**
 * Allocations of a purged job outlive it, and with them the version they run: so the versions of a
 * namespace name every job that can have allocations in it.
 */
function hasLiveAllocations({ tables }: Store, namespace: string): boolean {
  const prefix = namespacedKey(namespace, '')
  for (const version of tables.job_versions.keys(prefix)) {
    if (!version.startsWith(prefix)) return false
    const job = version.slice(0, version.lastIndexOf('!'))
    if (tables.allocations.countIn('live', job) > 0) return true
  }
  return false
}
