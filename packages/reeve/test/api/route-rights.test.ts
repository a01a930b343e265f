import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  NAMESPACE_CAPABILITIES,
  v1Routes,
  type Route,
  type ScalingPolicy,
  type HostVolumeRecord,
  type ServiceRegistration,
  type V1RouteId,
} from '@reeve/contract'
import {
  newDeployment,
  newHostVolume,
  newSummary,
  type AllocationRow,
  type NodeJoinTokenRow,
  type NodeRevocationRow,
  type VariableRow,
} from '../../src/model/index.ts'
import { put } from '../../src/state/index.ts'
import { aJob, anAllocation, anEvaluation, anId, aNode } from '../build/index.ts'
import { createTestServer, type CallOptions, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

/**
 * Every route that is mounted, called by those who may not and by those who just may. What a route
 * needs is read from the contract, so a new route is held to its own words.
 */

/** Answered to anyone; what they show or do is decided by who asks, and tested with them. */
const OPEN = new Set([
  'bootstrapAcl',
  'checkAccess',
  'exchangeOneTimeToken',
  'fuzzySearch',
  'listAclPolicies',
  'listAclRoles',
  'listNamespaces',
  'listNodePools',
  'listOwnAclPolicies',
  'readOwnAclToken',
  'search',
])

const EVERYTHING = {
  namespace: 'namespace "*" { policy = "write" }',
  node: 'node { policy = "write" }',
  agent: 'agent { policy = "write" }',
  operator: 'operator { policy = "write" }',
  node_pool: 'node_pool "*" { policy = "write" }',
  plugin: 'plugin { policy = "read" }',
  variables:
    'namespace "*" { variables { path "*" { capabilities = ["write", "read", "destroy"] } } }',
} as const
type Kind = keyof typeof EVERYTHING
// Object.keys of a literal gives exactly its names.
const KINDS = Object.keys(EVERYTHING) as readonly Kind[]

/** All rights that a client token can have, but for those of one kind. */
function allBut(kind: Kind | undefined): string {
  const kinds = KINDS.filter((one) => one !== kind)
  const elsewhere = kind === 'namespace' ? ['namespace "other" { policy = "write" }'] : []
  return [...kinds.map((one) => EVERYTHING[one]), ...elsewhere].join('\n')
}

/** Every capability there is, and where it is held: never where the routes below are called. */
const ALL_CAPABILITIES = [...NAMESPACE_CAPABILITIES]
  .filter((one) => one !== 'deny')
  .map((one) => `"${one}"`)
  .join(', ')
const ELSEWHERE: Readonly<Partial<Record<Kind, Readonly<Record<string, string>>>>> = {
  namespace: {
    'another namespace': `namespace "other" { capabilities = [${ALL_CAPABILITIES}] }`,
    'namespaces whose names begin with this one': `namespace "default-*" { policy = "write" }`,
  },
  variables: {
    'another namespace': EVERYTHING.variables.replace('"*"', '"other"'),
    'another path': EVERYTHING.variables.replace('path "*"', 'path "b"'),
    'a path below this one': EVERYTHING.variables.replace('path "*"', 'path "a/*"'),
  },
  node_pool: { 'another pool': 'node_pool "other" { policy = "write" }' },
}

/** The kind of right a route needs; undefined for management. */
function kindOf({ id, needs }: Route): Kind | undefined {
  if (/^(?:management|a SecretID|any$)/.test(needs)) return undefined
  if (needs === 'any capability in the namespace') return 'namespace'
  const [kind = ''] = needs.split(':')
  const known = KINDS.find((one) => one === kind)
  assert.ok(known !== undefined, `${id} needs "${needs}", which this table does not know`)
  return known
}

/** The smallest rules that are enough for the route; what follows `;` is for special cases. */
function justEnough({ needs }: Route): readonly string[] {
  const [first = '', rest = ''] = needs.split(';')
  if (first === 'any capability in the namespace') return [inDefault(['read-logs'])]
  const levels = [
    ...first.matchAll(/\b(node|agent|operator|node_pool|plugin):(read|write|delete|list)/g),
  ].map(([, kind, level]) =>
    kind === 'node_pool'
      ? `node_pool "*" { capabilities = ["${level}"] }`
      : `${kind} { policy = "${level}" }`,
  )
  const [, variable] = /^variables:([a-z]+)/.exec(first) ?? []
  if (variable !== undefined)
    return [`namespace "default" { variables { path "a" { capabilities = ["${variable}"] } } }`]
  const capabilities = [...first.matchAll(/namespace:([a-z-]+)/g)].map(([, name = '']) => name)
  if (capabilities.length === 0) return [levels.join('\n')]
  const isAll = first.includes(' and ')
  assert.ok(!rest.includes('node:'), 'a special case that this table does not know')
  const choices = isAll ? [inDefault(capabilities)] : capabilities.map((one) => inDefault([one]))
  return choices.map((choice) => [choice, ...levels].join('\n'))
}

function inDefault(capabilities: readonly string[]): string {
  const list = capabilities.map((one) => `"${one}"`).join(', ')
  return `namespace "default" { capabilities = [${list}] }`
}

const POLICY_ID = anId('any', 1)
const VOLUME_ID = anId('any', 4)
const SCALING_POLICY: Omit<ScalingPolicy, 'ID'> = {
  Enabled: true,
  Type: 'horizontal',
  Target: { Namespace: 'default', Job: 'web', Group: 'app' },
  Policy: null,
  Min: 0,
  Max: 1,
  CreateIndex: 0,
  ModifyIndex: 0,
}

const JOIN_TOKEN: NodeJoinTokenRow = {
  ID: anId('any', 3),
  NodeName: '',
  NodePool: '',
  CreatedBy: '',
  CreateTime: '2026-01-01T00:00:00.000Z',
  ExpiresAt: '2026-01-01T01:00:00.000Z',
  UsedBy: '',
  UsedAt: null,
  SecretHash: 'hash',
  CreateIndex: 0,
  ModifyIndex: 0,
}
const REVOCATION: Omit<NodeRevocationRow, 'NodeID'> = {
  NodeName: 'node-1',
  Reason: '',
  RevokedBy: '',
  RevokeTime: '2026-01-01T00:00:00.000Z',
  SecretHash: 'hash',
  CreateIndex: 0,
  ModifyIndex: 0,
}

function aRegistration({ ID, JobID, NodeID }: AllocationRow): ServiceRegistration {
  const own = { ID: 'r1', ServiceName: 'web', Namespace: 'default', Datacenter: 'dc1', Tags: null }
  const place = { JobID, AllocID: ID, NodeID, Address: '127.0.0.1', Port: 80 }
  return { ...own, ...place, CreateIndex: 0, ModifyIndex: 0 }
}

function aVariable({ context }: TestServer): VariableRow {
  const SealedItems = context.sealer.seal('{}')
  const stamps = { CreateIndex: 0, CreateTime: 0, ModifyIndex: 0, ModifyTime: 0 }
  return { Namespace: 'default', Path: 'a', SealedItems, Lock: null, ...stamps }
}

function aVolume(NodeID: string): HostVolumeRecord {
  return newHostVolume({ Name: 'data', NodeID }, { id: VOLUME_ID, origin: 'registered' })
}

/** A server with one of everything that a path can name. */
async function aWorld() {
  const secured = await aSecuredServer()
  const job = aJob({ VersionTag: { Name: 'gold', Description: '', TaggedTime: 0 } })
  const allocation = anAllocation({ job })
  const evaluation = anEvaluation(job)
  const deployment = newDeployment(job, { id: anId('any', 2), timeMs: 0, priority: 50 })
  const { SecretID: _secret, ...node } = aNode()
  secured.server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: ({ index }) => [
      put('jobs', job),
      put('job_versions', { ...job, CreateIndex: index }),
      put('job_summaries', newSummary(job)),
      put('evaluations', evaluation),
      put('allocations', allocation),
      put('deployments', deployment),
      put('nodes', { ...node, SecretHash: '' }),
      put('scaling_policies', { ...SCALING_POLICY, ID: POLICY_ID }),
      put('service_registrations', aRegistration(allocation)),
      put('variables', aVariable(secured.server)),
      put('host_volumes', aVolume(node.ID)),
      put('node_join_tokens', JOIN_TOKEN),
      put('node_revocations', { ...REVOCATION, NodeID: node.ID }),
    ],
  })
  const params: Readonly<Record<string, string>> = {
    job_id: job.ID,
    tag_name: 'gold',
    alloc_id: allocation.ID,
    eval_id: evaluation.ID,
    deployment_id: deployment.ID,
    node_id: node.ID,
    token_id: JOIN_TOKEN.ID,
    namespace_name: 'default',
    pool_name: 'default',
    accessor_id: secured.root.AccessorID,
    policy_name: 'policy',
    policy_id: POLICY_ID,
    role_id: secured.root.AccessorID,
    role_name: 'role',
    service_name: 'web',
    registration_id: 'r1',
    volume_id: VOLUME_ID,
    path: 'a',
  }
  const body = {
    Items: { a: 'b' },
    Job: { ID: job.ID, TaskGroups: job.TaskGroups },
    Volume: { Namespace: 'default', Name: 'data' },
  }
  const options = (route: Route): CallOptions => ({
    params,
    ...(route.body === undefined ? {} : { body }),
  })
  return { ...secured, options }
}

type World = Awaited<ReturnType<typeof aWorld>>
let untouched: Promise<World> | undefined

/**
 * The same server for all calls that must not change anything, which each of them asserts: building
 * one takes fifty times as long as the call. Equal rules have one token.
 */
async function theUntouchedWorld(): Promise<World> {
  untouched ??= aWorld().then((world) => {
    const clients = new Map<string, ReturnType<World['client']>>()
    return {
      ...world,
      client: (rules) => {
        const client = clients.get(rules) ?? world.client(rules)
        clients.set(rules, client)
        return client
      },
    }
  })
  return await untouched
}

function isRouteId(id: string): id is V1RouteId {
  return Object.hasOwn(v1Routes, id)
}

const { routes } = await createTestServer()
const guarded = routes.filter(
  ({ id, needs, streams }) =>
    isRouteId(id) && needs !== 'none' && streams !== true && !OPEN.has(id),
)

for (const route of guarded)
  for (const name of ['nothing at all', 'every right but the one it needs'])
    test(`${route.id}: is refused to who has ${name}`, async () => {
      const { server, as, client, options } = await theUntouchedWorld()
      if (!isRouteId(route.id)) return
      // Making a one-time token needs no right, only a token.
      const isNothing = name === 'nothing at all' || route.id === 'createOneTimeToken'
      const call = isNothing
        ? options(route)
        : as(await client(allBut(kindOf(route))), options(route))
      const before = server.context.store.index
      const [status, text] = await server.refusal(route.id, call)
      assert.ok(status === 403 || status === 404, `${status} ${text}`)
      if (status === 403) assert.equal(text, 'Permission denied')
      assert.equal(server.context.store.index, before, 'nothing was written')
    })

for (const route of guarded)
  for (const [where, rules] of Object.entries(ELSEWHERE[kindOf(route) ?? 'agent'] ?? {}))
    test(`${route.id}: is refused to who has every right in ${where}`, async () => {
      const { server, as, client, options } = await theUntouchedWorld()
      if (!isRouteId(route.id)) return
      const kind = kindOf(route)
      const others = KINDS.filter(
        (one) => one !== kind && one !== 'variables' && one !== 'namespace',
      )
      const held = [rules, ...others.map((one) => EVERYTHING[one])].join('\n')
      const caller = await client(held)
      const before = server.context.store.index
      const { status, text } = await server.call(route.id, as(caller, options(route)))
      // A list of variables is of a namespace, and holds those whose paths the caller may list.
      const isEmptyList = route.id === 'listVariables' && where.includes('path') && text === '[]'
      assert.ok(status === 403 || status === 404 || isEmptyList, `${status} ${text}`)
      assert.equal(server.context.store.index, before, 'nothing was written')
    })

for (const id of OPEN)
  test(`${id}: names nothing of this namespace to who has every right in another`, async () => {
    const { server, as, client, options } = await aWorld()
    if (!isRouteId(id) || id === 'bootstrapAcl') return
    const rules = Object.values(ELSEWHERE).flatMap((kind) => Object.values(kind))
    const call = as(await client([...new Set(rules)].join('\n')), options(v1Routes[id]))
    const body =
      id === 'fuzzySearch' ? { Text: 'we', Context: 'all' } : { Prefix: '', Context: 'all' }
    const { text } = await server.call(id, {
      ...call,
      ...(call.body === undefined ? {} : { body }),
    })
    for (const name of ['web', 'default', anId('any', 2), POLICY_ID, 'r1'])
      assert.ok(!text.includes(`"${name}"`), `${name} in ${text}`)
  })

for (const route of guarded.filter((one) => kindOf(one) !== undefined))
  for (const rules of justEnough(route))
    test(`${route.id}: is open to who has just ${rules.replaceAll('\n', ' ')}`, async () => {
      const { server, as, client, options } = await aWorld()
      if (!isRouteId(route.id)) return
      const { status, text } = await server.call(route.id, as(await client(rules), options(route)))
      // No node is connected here; who is told so was let through.
      const isFound = status !== 404 || text === 'No path to node'
      assert.ok(status !== 403 && isFound, `${status} ${text}`)
    })

for (const route of guarded.filter((one) => kindOf(one) === undefined))
  test(`${route.id}: is open to management`, async () => {
    const { server, as, root, options } = await aWorld()
    if (!isRouteId(route.id)) return
    const { status, text } = await server.call(route.id, as(root, options(route)))
    assert.notEqual(status, 403, text)
  })

/** No existence leak. */
const HIDDEN = [
  { id: 'readEvaluation', param: 'eval_id' },
  { id: 'readAllocation', param: 'alloc_id' },
  { id: 'readDeployment', param: 'deployment_id' },
  { id: 'readScalingPolicy', param: 'policy_id' },
] as const

for (const { id, param } of HIDDEN)
  test(`${id}: the index of what may not be seen is that of what is not there`, async () => {
    const { server, options } = await aWorld()
    const other = anId('any', 50)
    const job = aJob()
    server.context.store.commit({
      by: 'system',
      cause: undefined,
      changes: () => [
        put('evaluations', { ...anEvaluation(job), ID: other }),
        put('allocations', { ...anAllocation({ job }), ID: other }),
        put('deployments', newDeployment(job, { id: other, timeMs: 0, priority: 50 })),
        put('scaling_policies', { ...SCALING_POLICY, ID: other }),
      ],
    })
    const { params = {} } = options(v1Routes[id])
    const hidden = await server.call(id, { params })
    const unknown = await server.call(id, { params: { ...params, [param]: anId('any', 99) } })
    assert.deepEqual([hidden.status, hidden.text], [unknown.status, unknown.text])
    assert.equal(hidden.index, unknown.index)
  })

test('stopJob: purging needs more than deregister-job', async () => {
  const { server, as, client } = await aWorld()
  const call = { params: { job_id: 'web' }, query: { purge: true } }
  const stopper = await client(inDefault(['deregister-job']))
  assert.deepEqual(await server.refusal('stopJob', as(stopper, call)), [403, 'Permission denied'])
  await server.ok('stopJob', as(await client(inDefault(['purge-job'])), call))
})

test('every route answers 405 to a method that it does not have', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const byPath = Map.groupBy(
    routes.filter(({ path }) => path.startsWith('/v1')),
    ({ path }) => path,
  )
  for (const [path, ofPath] of byPath) {
    if (ofPath.every(({ streams }) => streams === true)) continue
    const methods = ofPath.flatMap((route) => route.methods)
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
      if (methods.includes(method)) continue
      const reply = await server.send(method, path.replaceAll(/:\w+/g, 'x'))
      assert.deepEqual([reply.status, reply.text], [405, 'Invalid method'], `${method} ${path}`)
    }
  }
})
