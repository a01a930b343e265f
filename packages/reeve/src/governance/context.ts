import type { Clock, IdSource } from '@reeve/kit/clock.ts'
import type { PolicyAsker } from '../policy/index.ts'
import type { Store } from '../state/index.ts'
import { ListIndex } from './list-index.ts'
import { Remembered } from './remembered.ts'
import { StateReader } from './state-versions/state-reader.ts'

/** Keeps secrets out of storage; the same one that the workload API uses. */
export interface SecretKeeper {
  /** One-way, the same for the same text: for finding. */
  hash(secret: string): string
  seal(secret: string): string
  open(sealed: string): string
  sealBytes(bytes: Uint8Array): Uint8Array
  openBytes(sealed: Uint8Array): Uint8Array
}

export interface GovernanceHost {
  readonly store: Store
  readonly clock: Clock
  readonly ids: IdSource
  readonly sealer: SecretKeeper
  /** Reads and asks policies on a thread of its own. */
  readonly policyAsker: PolicyAsker
  /** Whether somebody has to have a right to what they do on `/v1`. */
  readonly aclEnabled: boolean
}

/** What every governance use case may use. Made once, by `openGovernance`. */
export interface GovernanceContext extends GovernanceHost {
  readonly lists: GovernanceLists
  readonly states: StateReader
  /** Which projects a caller has a right on; see `projectsWith`. */
  readonly projectScopes: Remembered<ReadonlySet<string>>
  /** Which workspaces a caller may read; see `readableWorkspaces`. */
  readonly workspaceScopes: Remembered<ReadonlySet<string>>
  /** Which workspaces the filters of a list leave; see `filtered`. */
  readonly workspaceFilters: Remembered<ReadonlySet<string> | undefined>
  /** Workspaces in the order of their current runs; see `byCurrentRun`. */
  readonly runOrders: Remembered<readonly string[]>
}

/** Each may hold every workspace of a large project. */
const WORKSPACE_SCOPES_MAX = 100
/** Each may hold every workspace there is: enough for those who walk from page to page. */
const WORKSPACE_FILTERS_MAX = 8

/** The lists that are searched, ordered and paged. One for each table that has a list endpoint. */
export type GovernanceLists = ReturnType<typeof openLists>

export function openGovernance(host: GovernanceHost): GovernanceContext {
  const { store, clock, ids, sealer, policyAsker, aclEnabled } = host
  return {
    store,
    clock,
    ids,
    sealer,
    policyAsker,
    aclEnabled,
    lists: openLists(store),
    states: new StateReader(clock),
    projectScopes: new Remembered(),
    workspaceScopes: new Remembered(WORKSPACE_SCOPES_MAX),
    workspaceFilters: new Remembered(WORKSPACE_FILTERS_MAX),
    runOrders: new Remembered(WORKSPACE_SCOPES_MAX),
  }
}

function organizationOf(row: { readonly organizationId: string }): string {
  return row.organizationId
}

function nameOf(row: { readonly name: string }): string {
  return row.name
}

/** Rows that belong to no organization are all in this scope. */
export const SITE_SCOPE = ''

/** Of the greatest whole number: times with as many digits are ordered like texts. */
const MS_DIGITS = 16

function openLists(store: Store) {
  const named = { scope: organizationOf, name: nameOf }
  return {
    organizations: new ListIndex(store, {
      table: 'organizations',
      scope: () => SITE_SCOPE,
      name: nameOf,
      // `q` looks at both.
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
      scope: organizationOf,
      name: ({ email }) => email,
      // Whoever changes a username writes the memberships after it.
      text: ({ email, userId }) => `${store.tables.users.find(userId)?.username ?? ''}\n${email}`,
    }),
    teams: new ListIndex(store, {
      table: 'teams',
      scope: organizationOf,
      // Owners first. A space sorts before every character of a name.
      name: ({ name, isOwners }) => (isOwners ? ` ${name}` : name),
    }),
    projects: new ListIndex(store, { table: 'projects', ...named }),
    workspaces: new ListIndex(store, { table: 'workspaces', ...named }),
    /** The same, in the order of their last change. */
    changedWorkspaces: new ListIndex(store, {
      table: 'workspaces',
      scope: organizationOf,
      name: ({ latestChangeMs }) => String(latestChangeMs).padStart(MS_DIGITS, '0'),
      text: nameOf,
    }),
    reservedTagKeys: new ListIndex(store, {
      table: 'reserved_tag_keys',
      scope: organizationOf,
      name: ({ key }) => key,
    }),
    policies: new ListIndex(store, { table: 'run_policies', ...named }),
    policiesByUpdate: new ListIndex(store, {
      table: 'run_policies',
      scope: organizationOf,
      // The time as text that sorts like it; a policy that was never changed comes first.
      name: ({ updatedMs }) => (updatedMs === null ? '' : String(updatedMs).padStart(16, '0')),
      text: nameOf,
    }),
    policySets: new ListIndex(store, { table: 'policy_sets', ...named }),
    /** Of a workspace. */
    runs: new ListIndex(store, {
      table: 'runs',
      scope: ({ workspaceId }) => workspaceId,
      name: ({ id }) => id,
    }),
  }
}
