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
import { stringMap } from './text-map.ts'
import { findRemoteUsage, formatUsage } from './remote-regions.ts'

export const NAMESPACE_NOT_FOUND: Refusal = refusal('namespace-not-found', 'Namespace not found')

const DEFAULT_NAMESPACE_NAME = 'default'
/** Query for jobs that are not dead. */
const LIVE_JOBS_QUERY = new URLSearchParams({ filter: 'Status != "dead"' }).toString()

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

/** Returns the namespace in its canonical form, with defaults for absent fields. */
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
          Default: pools.Default || DEFAULT_NAMESPACE_NAME,
          Allowed: pools.Allowed ?? null,
          Denied: pools.Denied ?? null,
        }
      : null,
    Meta: stringMap(request.Meta),
  }
  return { ...namespace, Hash: namespaceHash(namespace), CreateIndex: 0, ModifyIndex: 0 }
}

/** Deletes a namespace that is not in use; dead jobs remain until they are garbage-collected. */
export async function deleteNamespace(
  context: WorkloadContext,
  { by }: Author,
  name: string,
  secret?: string,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const { store, region } = context
  if (name === DEFAULT_NAMESPACE_NAME)
    return err(refusal('invalid-input', 'can not delete default namespace'))
  const url = `/v1/jobs?namespace=${encodeURIComponent(name)}&per_page=1&${LIVE_JOBS_QUERY}`
  const remoteUsage = await findRemoteUsage(context, secret, [{ what: 'non-terminal jobs', url }])
  // No await from here to the commit.
  if (!store.tables.namespaces.has(name)) return err(NAMESPACE_NOT_FOUND)
  const usage = formatUsage(region, localUsage(store, name), remoteUsage).map(
    (use) => `namespace "${name}" has ${use}`,
  )
  if (usage.length > 0) return err(refusal('namespace-in-use', formatMultiError(usage)))
  const governanceChanges = removalsFromGovernance(store, name)
  const { index, durable } = store.commit({
    by,
    // Followers of the changed organization records get an event; namespaces have no topic.
    cause: governanceChanges.length > 0 ? 'OrganizationUpdated' : undefined,
    changes: () => [
      ...governanceChanges,
      ...verdictDeletes(store, name),
      remove('namespaces', name),
    ],
  })
  await durable
  return ok({ index })
}

/**
 * Removes the namespace from its project and policy sets: a later one with the same name is a
 * different namespace.
 */
function removalsFromGovernance({ tables }: Store, namespace: string): readonly Change[] {
  const changes: Change[] = []
  const project = tables.projects.find(tables.project_namespaces.find(namespace)?.projectId ?? '')
  if (project !== undefined)
    changes.push(remove('project_namespaces', namespace), put('projects', project))
  const group = scopedKey('namespaces', namespace)
  for (const key of tables.policy_set_members.keysByIndex('member', group)) {
    const set = tables.policy_sets.get(tables.policy_set_members.get(key).policySetId)
    changes.push(remove('policy_set_members', key), put('policy_sets', set))
  }
  return changes
}

/**
 * Returns the policy records to delete, a few hundred at most. Denied jobs may contain data that
 * only members of the namespace may see.
 */
function verdictDeletes({ tables }: Store, namespace: string): readonly Change[] {
  const keys = tables.policy_verdicts.keysByIndex('namespace', namespace)
  return [...keys].map((key) => remove('policy_verdicts', key))
}

function localUsage(store: Store, namespace: string): readonly string[] {
  const { jobs } = store.tables
  const hasJobs = jobs.countByIndex('live', namespace) > 0
  return [
    ...(hasJobs ? ['non-terminal jobs'] : []),
    ...(hasLiveAllocations(store, namespace) ? ['non-terminal allocations'] : []),
    ...(store.tables.variables.countByIndex('namespace', namespace) > 0 ? ['variables'] : []),
    ...(store.tables.host_volumes.countByIndex('namespace', namespace) > 0 ? ['host volumes'] : []),
  ]
}

/**
 * Reports whether the namespace has live allocations. Allocations of a purged job outlive it, and
 * so does the version they run: so the job versions of a namespace include every job that can have
 * allocations.
 */
function hasLiveAllocations({ tables }: Store, namespace: string): boolean {
  const prefix = namespacedKey(namespace, '')
  for (const version of tables.job_versions.keys(prefix)) {
    if (!version.startsWith(prefix)) return false
    const job = version.slice(0, version.lastIndexOf('!'))
    if (tables.allocations.countByIndex('live', job) > 0) return true
  }
  return false
}
