import { setImmediate } from 'node:timers/promises'
import type { Clock, IdSource } from '@reeve/kit/clock.ts'
import { LruCache } from '@reeve/kit/lru-cache.ts'
import type { PolicyEngine } from '../policy/index.ts'
import type { Store, TableName } from '../state/index.ts'
import { ListIndex } from './list-index.ts'
import { StateReader } from './state-versions/state-reader.ts'

/** Encrypts secrets for storage; shared with the workload API. */
export interface Sealer {
  /** Returns a one-way hash, equal for equal secrets, for lookups. */
  hash(secret: string): string
  seal(secret: string): string
  open(sealed: string): string
  sealBytes(bytes: Uint8Array): Uint8Array
  openBytes(sealed: Uint8Array): Uint8Array
}

export interface GovernanceOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: IdSource
  readonly sealer: Sealer
  /** Compiles and evaluates policies on worker threads. */
  readonly policyEngine: PolicyEngine
  /** Reports whether ACLs are enforced on `/v1`. */
  readonly aclEnabled: boolean
}

/** Dependencies of all governance use cases, created by `createGovernanceContext`. */
export interface GovernanceContext extends GovernanceOptions {
  readonly lists: GovernanceLists
  readonly states: StateReader
  /** Cache of the projects on which a caller has permissions; see `projectIdsWithRights`. */
  readonly visibleProjectsCache: VersionedCache<ReadonlySet<string>>
  /** Cache of the workspaces that a caller may read; see `readableWorkspaceIds`. */
  readonly visibleWorkspacesCache: VersionedCache<ReadonlySet<string>>
  /** Cache of the workspaces that match the filters of a list; see `filtered`. */
  readonly workspaceFilters: VersionedCache<ReadonlySet<string> | undefined>
  /** Cache of workspaces in the order of their current runs; see `workspaceIdsByCurrentRun`. */
  readonly runOrderCache: VersionedCache<readonly string[]>
}

/** Small, because each entry may hold every workspace of a large project. */
const WORKSPACE_SCOPES_MAX = 100
/**
 * Small, because each entry may hold all workspaces: enough for clients that read page after page.
 */
const WORKSPACE_FILTERS_MAX = 8

/** Indexes for lists with search, order and pages; one per table with a list endpoint. */
type GovernanceLists = ReturnType<typeof createLists>

export function createGovernanceContext(options: GovernanceOptions): GovernanceContext {
  const { store, clock, ids, sealer, policyEngine, aclEnabled } = options
  return {
    store,
    clock,
    ids,
    sealer,
    policyEngine,
    aclEnabled,
    lists: createLists(store),
    states: new StateReader(clock),
    visibleProjectsCache: new VersionedCache(),
    visibleWorkspacesCache: new VersionedCache(WORKSPACE_SCOPES_MAX),
    workspaceFilters: new VersionedCache(WORKSPACE_FILTERS_MAX),
    runOrderCache: new VersionedCache(WORKSPACE_SCOPES_MAX),
  }
}

function organizationIdOf(row: { readonly organizationId: string }): string {
  return row.organizationId
}

function nameOf(row: { readonly name: string }): string {
  return row.name
}

/** Scope of rows that belong to no organization. */
export const SITE_SCOPE = ''

/** Digits of the largest safe integer: zero-padded times sort as strings. */
const MS_DIGITS = 16

function createLists(store: Store) {
  const named = { scope: organizationIdOf, name: nameOf }
  return {
    organizations: new ListIndex(store, {
      table: 'organizations',
      scope: () => SITE_SCOPE,
      name: nameOf,
      // `q` searches both.
      text: ({ name, email }) => `${name}\n${email}`,
    }),
    users: new ListIndex(store, {
      table: 'users',
      scope: () => SITE_SCOPE,
      name: ({ username }) => username,
      text: ({ username, email }) => `${username}\n${email}`,
    }),
    memberships: new ListIndex(store, {
      table: 'organization_memberships',
      scope: organizationIdOf,
      name: ({ email }) => email,
      // A change of a username also writes the memberships, so that this index is updated.
      text: ({ email, userId }) => `${store.tables.users.find(userId)?.username ?? ''}\n${email}`,
    }),
    teams: new ListIndex(store, {
      table: 'teams',
      scope: organizationIdOf,
      // Sorts owners first: a space sorts before every character of a name.
      name: ({ name, isOwners }) => (isOwners ? ` ${name}` : name),
    }),
    projects: new ListIndex(store, { table: 'projects', ...named }),
    workspaces: new ListIndex(store, { table: 'workspaces', ...named }),
    /** Index in the order of the last change. */
    changedWorkspaces: new ListIndex(store, {
      table: 'workspaces',
      scope: organizationIdOf,
      name: ({ latestChangeMs }) => String(latestChangeMs).padStart(MS_DIGITS, '0'),
      text: nameOf,
    }),
    reservedTagKeys: new ListIndex(store, {
      table: 'reserved_tag_keys',
      scope: organizationIdOf,
      name: ({ key }) => key,
    }),
    policies: new ListIndex(store, { table: 'run_policies', ...named }),
    policiesByUpdate: new ListIndex(store, {
      table: 'run_policies',
      scope: organizationIdOf,
      // The time as a string that sorts chronologically; a policy that was never changed comes
      // first.
      name: ({ updatedMs }) => (updatedMs === null ? '' : String(updatedMs).padStart(16, '0')),
      text: nameOf,
    }),
    policySets: new ListIndex(store, { table: 'policy_sets', ...named }),
    /** Scoped by workspace. */
    runs: new ListIndex(store, {
      table: 'runs',
      scope: ({ workspaceId }) => workspaceId,
      name: ({ id }) => id,
    }),
  }
}

const ENTRIES_MAX = 1_000

/** Cache of values with a version: a value is computed again if its version has changed. */
class VersionedCache<T> {
  readonly #cache: LruCache<string, { readonly version: string; readonly value: T }>

  constructor(entriesMax = ENTRIES_MAX) {
    this.#cache = new LruCache({ weightMax: entriesMax })
  }

  getOrCompute(key: string, version: string, compute: () => T): T {
    const cached = this.#cache.get(key)
    if (cached?.version === version) return cached.value
    const value = compute()
    this.#cache.set(key, { version, value })
    return value
  }
}

/** A list, as seen by the warmer. */
type WarmableList = Pick<ListIndex<TableName>, 'isReady' | 'indexNextBatch'>

/**
 * Builds the list indexes after a start in small turns: a hundred thousand rows take seconds, and
 * other requests must not wait for them.
 */
export class ListWarmer {
  readonly #lists: readonly WarmableList[]
  #running: Promise<void> | undefined
  #isStopped = false

  constructor(lists: readonly WarmableList[]) {
    this.#lists = lists
  }

  /** Undefined if all are complete. Concurrent callers share the same work. */
  warm(): Promise<void> | undefined {
    if (this.#lists.every(({ isReady }) => isReady)) return undefined
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Stops building. The first request that needs an incomplete index finishes it synchronously. */
  stop(): void {
    this.#isStopped = true
  }

  async #run(): Promise<void> {
    for (const list of this.#lists)
      while (!this.#isStopped && !list.indexNextBatch()) await setImmediate()
  }
}
