import {
  AclPolicyRecord,
  AclPolicyStub,
  AclRole,
  AclToken,
  AclTokenStub,
  Namespace,
  NodePool,
  type EventType,
  type Shape,
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
import type { Marked } from './diff-copies.ts'

/** Something that the authoritative region rules and every other one keeps copies of. */
export interface Collection {
  readonly name: string
  /** Needs ACLs: without them the routes answer nothing. */
  readonly isAcl: boolean
  readonly listUrl: string
  /** How one is read whole; undefined where the list shows them whole. */
  readonly readUrl?: (key: string) => string
  readonly markOf: (listed: unknown, nowMs: number) => Marked | undefined
  readonly here: (context: WorkloadContext) => Iterable<Marked>
  /** Throws a Fault when it is not of the contract's shape. */
  readonly copy: (context: WorkloadContext, whole: unknown) => Change
  readonly cause: EventType | undefined
  readonly remove: (context: WorkloadContext, key: string) => Promise<Result<unknown, Refusal>>
}

const FRESH_ROW = { CreateIndex: 0, ModifyIndex: 0 } as const

const policies: Collection = {
  name: 'policies',
  isAcl: true,
  listUrl: '/v1/acl/policies',
  readUrl: (name) => `/v1/acl/policy/${encodeURIComponent(name)}`,
  markOf: (listed) => {
    const { Name, Hash } = checked(AclPolicyStub, listed)
    return { key: Name, mark: Hash }
  },
  here: ({ store }) => rowMarks(store.tables.acl_policies.rows(), (row) => row.Name),
  copy: (_context, whole) => {
    const { Name, Description, Rules, JobACL, Hash } = checked(AclPolicyRecord, whole)
    return put('acl_policies', { Name, Description, Rules, JobACL, Hash, ...FRESH_ROW })
  },
  cause: 'ACLPolicyUpserted',
  remove: async (context, name) => ({ ok: true, value: await deletePolicy(context, SYSTEM, name) }),
}

const roles: Collection = {
  name: 'roles',
  isAcl: true,
  listUrl: '/v1/acl/roles',
  markOf: (listed) => {
    const { ID, Hash } = checked(AclRole, listed)
    return { key: ID, mark: Hash }
  },
  here: ({ store }) => rowMarks(store.tables.acl_roles.rows(), (row) => row.ID),
  copy: (_context, whole) => {
    const { ID, Name, Description, Policies, Hash } = checked(AclRole, whole)
    return put('acl_roles', { ID, Name, Description, Policies, Hash, ...FRESH_ROW })
  },
  cause: 'ACLRoleUpserted',
  remove: (context, id) => deleteRole(context, SYSTEM, id),
}

/** `global` shows the ones that are copied. */
const tokens: Collection = {
  name: 'tokens',
  isAcl: true,
  listUrl: '/v1/acl/tokens?global=true',
  readUrl: (accessorId) => `/v1/acl/token/${encodeURIComponent(accessorId)}`,
  markOf: (listed, nowMs) => {
    const stub = checked(AclTokenStub, listed)
    // It goes there too, a little later; until then it would come and go here.
    if (stub.ExpirationTime !== null && Date.parse(stub.ExpirationTime) <= nowMs) return undefined
    return { key: stub.AccessorID, mark: tokenMark(stub) }
  },
  *here({ store }) {
    for (const row of store.tables.acl_tokens.rows())
      if (row.Global) yield { key: row.AccessorID, mark: tokenMark(row) }
  },
  copy: ({ sealer }, whole) => {
    const { SecretID, ...token } = checked(AclToken, whole)
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
      ...FRESH_ROW,
    }
    return put('acl_tokens', row)
  },
  cause: 'ACLTokenUpserted',
  remove: (context, accessorId) => deleteToken(context, SYSTEM, accessorId),
}

/** The hash tells nothing of times; a token that was made again has another secret. */
function tokenMark(token: Pick<AclTokenRow, 'Hash' | 'CreateTime' | 'ExpirationTime'>): string {
  return [token.Hash, token.CreateTime, token.ExpirationTime ?? ''].join(' ')
}

const namespaces: Collection = {
  name: 'namespaces',
  isAcl: false,
  listUrl: '/v1/namespaces',
  markOf: (listed) => {
    const { Name, Hash } = checked(Namespace, listed)
    return { key: Name, mark: Hash }
  },
  here: ({ store }) => rowMarks(store.tables.namespaces.rows(), (row) => row.Name),
  copy: (_context, whole) => {
    const { CreateIndex: _created, ModifyIndex: _modified, ...row } = checked(Namespace, whole)
    return put('namespaces', { ...row, ...FRESH_ROW })
  },
  cause: undefined,
  remove: (context, name) => deleteNamespace(context, SYSTEM, name),
}

const nodePools: Collection = {
  name: 'node_pools',
  isAcl: false,
  listUrl: '/v1/node/pools',
  markOf: (listed) => {
    const { Name, Hash } = checked(NodePool, listed)
    return { key: Name, mark: Hash }
  },
  here: ({ store }) => rowMarks(store.tables.node_pools.rows(), (row) => row.Name),
  copy: (_context, whole) => {
    const { CreateIndex: _created, ModifyIndex: _modified, ...row } = checked(NodePool, whole)
    return put('node_pools', { ...row, ...FRESH_ROW })
  },
  cause: 'NodePoolUpserted',
  remove: (context, name) => deleteNodePool(context, SYSTEM, name),
}

export const COLLECTIONS: readonly Collection[] = [policies, roles, tokens, namespaces, nodePools]

function* rowMarks<Row extends { readonly Hash: string }>(
  rows: Iterable<Row>,
  keyOf: (row: Row) => string,
): Iterable<Marked> {
  for (const row of rows) yield { key: keyOf(row), mark: row.Hash }
}

/** Another region may run another version: what cannot be understood is not stored. */
function checked<S extends TSchema>(schema: S, value: unknown): Shape<S> {
  const checker = checkerOf(schema)
  // Shape is what the schema accepts, deeply readonly.
  if (checker.Check(value)) return value as Shape<S>
  const [first] = checker.Errors(value)
  const where = first === undefined ? '' : ` (${first.instancePath}: ${first.message})`
  throw new Fault('region-answer', `the authoritative region sent something unknown${where}`)
}

const checkers = new Map<TSchema, Validator>()

/**
 * Compiled where copies are kept, and nowhere else: lists are read whole each time, and to check
 * five thousand tokens without would hold everybody up for a fifth of a second or more.
 */
function checkerOf(schema: TSchema): Validator {
  const known = checkers.get(schema)
  if (known !== undefined) return known
  const made = Compile(schema)
  checkers.set(schema, made)
  return made
}
