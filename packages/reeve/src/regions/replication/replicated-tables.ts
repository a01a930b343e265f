import {
  AclPolicyRecord,
  AclPolicyStub,
  AclRole,
  AclToken,
  AclTokenStub,
  Namespace,
  NodePool,
  type EventType,
  type Infer,
} from '@reeve/contract'
import type { TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'
import { Fault } from '@reeve/kit/fault.ts'
import type { Result } from '@reeve/kit/result.ts'
import type { AclTokenRow, Refusal } from '../../model/index.ts'
import { put, SYSTEM, type Change } from '../../state/index.ts'
import {
  deleteNamespace,
  deleteNodePool,
  deletePolicy,
  deleteRole,
  deleteToken,
  type WorkloadContext,
} from '../../workload/index.ts'

/** A table whose rows the authoritative region owns and all other regions copy. */
export interface ReplicatedTable {
  readonly name: string
  /** Requires ACLs: without them the routes return nothing. */
  readonly isAcl: boolean
  readonly listUrl: string
  /** URL of a single record; undefined if the list contains complete records. */
  readonly readUrl?: (key: string) => string
  readonly versionOf: (listed: unknown, nowMs: number) => KeyedVersion | undefined
  readonly localVersions: (context: WorkloadContext) => Iterable<KeyedVersion>
  /** Throws a Fault if the record does not match the contract. */
  readonly toChange: (context: WorkloadContext, whole: unknown) => Change
  readonly cause: EventType | undefined
  readonly remove: (context: WorkloadContext, key: string) => Promise<Result<unknown, Refusal>>
}

const NEW_ROW_INDEXES = { CreateIndex: 0, ModifyIndex: 0 } as const

const policies: ReplicatedTable = {
  name: 'policies',
  isAcl: true,
  listUrl: '/v1/acl/policies',
  readUrl: (name) => `/v1/acl/policy/${encodeURIComponent(name)}`,
  versionOf: (listed) => {
    const { Name, Hash } = parseRecord(AclPolicyStub, listed)
    return { key: Name, version: Hash }
  },
  localVersions: ({ store }) => rowVersions(store.tables.acl_policies.rows(), (row) => row.Name),
  toChange: (_context, record) => {
    const { Name, Description, Rules, JobACL, Hash } = parseRecord(AclPolicyRecord, record)
    return put('acl_policies', { Name, Description, Rules, JobACL, Hash, ...NEW_ROW_INDEXES })
  },
  cause: 'ACLPolicyUpserted',
  remove: async (context, name) => ({ ok: true, value: await deletePolicy(context, SYSTEM, name) }),
}

const roles: ReplicatedTable = {
  name: 'roles',
  isAcl: true,
  listUrl: '/v1/acl/roles',
  versionOf: (listed) => {
    const { ID, Hash } = parseRecord(AclRole, listed)
    return { key: ID, version: Hash }
  },
  localVersions: ({ store }) => rowVersions(store.tables.acl_roles.rows(), (row) => row.ID),
  toChange: (_context, record) => {
    const { ID, Name, Description, Policies, Hash } = parseRecord(AclRole, record)
    return put('acl_roles', { ID, Name, Description, Policies, Hash, ...NEW_ROW_INDEXES })
  },
  cause: 'ACLRoleUpserted',
  remove: (context, id) => deleteRole(context, SYSTEM, id),
}

/** `global=true` lists the replicated tokens. */
const tokens: ReplicatedTable = {
  name: 'tokens',
  isAcl: true,
  listUrl: '/v1/acl/tokens?global=true',
  readUrl: (accessorId) => `/v1/acl/token/${encodeURIComponent(accessorId)}`,
  versionOf: (listed, nowMs) => {
    const stub = parseRecord(AclTokenStub, listed)
    // An expired token is deleted there soon; copying it would create and delete it here.
    if (stub.ExpirationTime !== null && Date.parse(stub.ExpirationTime) <= nowMs) return undefined
    return { key: stub.AccessorID, version: tokenVersion(stub) }
  },
  *localVersions({ store }) {
    for (const row of store.tables.acl_tokens.rows())
      if (row.Global) yield { key: row.AccessorID, version: tokenVersion(row) }
  },
  toChange: ({ sealer }, record) => {
    const { SecretID, ...token } = parseRecord(AclToken, record)
    const row: AclTokenRow = {
      AccessorID: token.AccessorID,
      Name: token.Name,
      Type: token.Type,
      Policies: token.Policies,
      Roles: token.Roles?.map(({ ID }) => ({ ID, Name: '' })) ?? null,
      Global: true,
      Hash: token.Hash,
      CreateTime: token.CreateTime,
      ExpirationTime: token.ExpirationTime,
      ExpirationTTL: token.ExpirationTTL,
      // Sealed with the key of this region.
      SecretHash: sealer.hash(SecretID),
      SealedSecret: sealer.seal(SecretID),
      ...NEW_ROW_INDEXES,
    }
    return put('acl_tokens', row)
  },
  cause: 'ACLTokenUpserted',
  remove: (context, accessorId) => deleteToken(context, SYSTEM, accessorId),
}

/** The hash does not cover times; a recreated token has another secret. */
function tokenVersion(token: Pick<AclTokenRow, 'Hash' | 'CreateTime' | 'ExpirationTime'>): string {
  return [token.Hash, token.CreateTime, token.ExpirationTime ?? ''].join(' ')
}

const namespaces: ReplicatedTable = {
  name: 'namespaces',
  isAcl: false,
  listUrl: '/v1/namespaces',
  versionOf: (listed) => {
    const { Name, Hash } = parseRecord(Namespace, listed)
    return { key: Name, version: Hash }
  },
  localVersions: ({ store }) => rowVersions(store.tables.namespaces.rows(), (row) => row.Name),
  toChange: (_context, record) => {
    const { CreateIndex: _created, ModifyIndex: _modified, ...row } = parseRecord(Namespace, record)
    return put('namespaces', { ...row, ...NEW_ROW_INDEXES })
  },
  cause: undefined,
  remove: (context, name) => deleteNamespace(context, SYSTEM, name),
}

const nodePools: ReplicatedTable = {
  name: 'node_pools',
  isAcl: false,
  listUrl: '/v1/node/pools',
  versionOf: (listed) => {
    const { Name, Hash } = parseRecord(NodePool, listed)
    return { key: Name, version: Hash }
  },
  localVersions: ({ store }) => rowVersions(store.tables.node_pools.rows(), (row) => row.Name),
  toChange: (_context, record) => {
    const { CreateIndex: _created, ModifyIndex: _modified, ...row } = parseRecord(NodePool, record)
    return put('node_pools', { ...row, ...NEW_ROW_INDEXES })
  },
  cause: 'NodePoolUpserted',
  remove: (context, name) => deleteNodePool(context, SYSTEM, name),
}

export const REPLICATED_TABLES: readonly ReplicatedTable[] = [
  policies,
  roles,
  tokens,
  namespaces,
  nodePools,
]

function* rowVersions<Row extends { readonly Hash: string }>(
  rows: Iterable<Row>,
  keyOf: (row: Row) => string,
): Iterable<KeyedVersion> {
  for (const row of rows) yield { key: keyOf(row), version: row.Hash }
}

/** Another region may run another version: records that do not match the schema are not stored. */
function parseRecord<S extends TSchema>(schema: S, value: unknown): Infer<S> {
  const checker = compiledChecker(schema)
  // Shape is what the schema accepts, deeply readonly.
  if (checker.Check(value)) return value as Infer<S>
  const [first] = checker.Errors(value)
  const where = first === undefined ? '' : ` (${first.instancePath}: ${first.message})`
  throw new Fault('region-answer', `the authoritative region sent something unknown${where}`)
}

const checkers = new Map<TSchema, Validator>()

/**
 * Compiles the checker on first use. Lists are read completely each time; checking five thousand
 * tokens uncompiled would block the event loop for a fifth of a second or more.
 */
function compiledChecker(schema: TSchema): Validator {
  const cached = checkers.get(schema)
  if (cached !== undefined) return cached
  const compiled = Compile(schema)
  checkers.set(schema, compiled)
  return compiled
}

/** A record's key, and a version that changes with every change of the record. */
export interface KeyedVersion {
  readonly key: string
  readonly version: string
}

interface VersionDiff {
  /**
   * Keys of records that are new or different in the authoritative region, in the order of its
   * list.
   */
  readonly changed: readonly string[]
  /** Keys of copies that the authoritative region no longer has. */
  readonly removed: readonly string[]
}

/** Returns the changes that make the local copies equal to the authoritative region's records. */
export function diffVersions(
  remote: Iterable<KeyedVersion>,
  local: Iterable<KeyedVersion>,
): VersionDiff {
  const remaining = new Map<string, string>()
  for (const { key, version } of local) remaining.set(key, version)
  const changed: string[] = []
  for (const { key, version } of remote) {
    if (remaining.get(key) !== version) changed.push(key)
    remaining.delete(key)
  }
  return { changed, removed: [...remaining.keys()] }
}
