import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient, type Client } from './client.ts'
import { resource } from './json-api.ts'
import type { ItemOf, PagedRouteId } from './route-types.ts'

/** Compiles only if both are one type. */
function isExactly<A, B>(same: Same<A, B>): void {
  assert.equal(same, true)
}
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false

function aClient(): Client {
  return createClient({
    address: 'http://reeve.example',
    fetch: async () => new Response('{}', { status: 200 }),
  })
}

test('types: a call without what its path needs is refused, and would fail', async () => {
  const client = aClient()
  // @ts-expect-error: the job is missing
  await assert.rejects(client.v1.readJob(), /readJob needs params\.job_id/)
  // @ts-expect-error: the parameter has another name
  await assert.rejects(client.v1.readJob({ params: { id: 'web' } }), /params\.job_id/)
})

test('types: calls that the contract does not know are refused', () => {
  const client = aClient()
  const params = { organization_name: 'acme' }
  const wrong = [
    // @ts-expect-error: no such parameter
    () => client.v1.listJobs({ query: { nonsense: 1 } }),
    // @ts-expect-error: the body is missing
    () => client.v1.registerJob({}),
    // @ts-expect-error: no such field of a job
    () => client.v1.registerJob({ body: { Job: { Nonsense: 1 } } }),
    // @ts-expect-error: the name is missing
    () => client.v2.createProject({ params, body: resource('projects', { description: 'x' }) }),
    // @ts-expect-error: another type of resource
    () => client.v2.createProject({ params, body: resource('teams', { name: 'x' }) }),
    // @ts-expect-error: the task is missing
    () => client.v1.execAllocation({ params: { alloc_id: 'a' }, query: { command: '[]' } }),
    // @ts-expect-error: a write does not block
    () => client.blocking('registerJob', { body: {} }),
    // @ts-expect-error: one record has no pages
    () => client.pages('readJob', { params: { job_id: 'web' } }),
    // @ts-expect-error: no such topic
    () => client.events({ topics: ['Jobs'] }),
  ]
  assert.equal(wrong.length, 9)
})

test('types: answers are what their routes declare', async () => {
  const client = aClient()
  const policy_id = 'pol-1'
  const job = await client.v1.readJob({ params: { job_id: 'web' } })
  isExactly<typeof job.data.ID, string>(true)
  const nothing = await client.v1.deleteNamespace({ params: { namespace_name: 'dev' } })
  isExactly<typeof nothing.data, undefined>(true)
  const file = await client.v1.readFile({ params: { alloc_id: 'a' }, query: { path: '/' } })
  isExactly<typeof file.data, Uint8Array>(true)
  const code = await client.v2.downloadPolicy({ params: { policy_id } })
  isExactly<typeof code.data, Uint8Array | undefined>(true)
  const log = await client.v2.readPolicyCheckOutput({ params: { policy_check_id: 'x' } })
  isExactly<typeof log.data, string | undefined>(true)
  const policy = await client.v2.readPolicy({ params: { policy_id } })
  isExactly<typeof policy.data.data.type, 'policies'>(true)
})

test('types: every list has items', () => {
  type Unknown = { [Id in PagedRouteId]: [ItemOf<Id>] extends [never] ? Id : never }[PagedRouteId]
  isExactly<Unknown, never>(true)
  isExactly<ItemOf<'listJobs'>['ID'], string>(true)
  isExactly<ItemOf<'listProjects'>['type'], 'projects'>(true)
})

test('types: parameters may be passed as undefined', async () => {
  const prefix: string | undefined = undefined
  const reply = await aClient().v1.listJobs({ query: { prefix }, signal: undefined })
  assert.equal(reply.status, 200)
})
