import assert from 'node:assert/strict'
import { test } from 'node:test'
import { execClient, execPath } from './exec-client.ts'
import { aNodeWorld, shell, type NodeWorld } from './node-world.ts'

const SLEEP = shell('sleep 300')
const NOBODY = '00000000-0000-4000-8000-0000000000ff'

async function aSecuredWorld(t: Parameters<typeof aNodeWorld>[0], allowsExec = true) {
  const world = await aNodeWorld(t, { aclEnabled: true, allowsExec })
  const { SecretID: root } = await world.server.ok('bootstrapAcl')
  const { id } = await world.run([SLEEP], { token: root })
  return { world, root, id }
}

/** What is recorded of commands in tasks: the action, how it ended, and what it named. */
async function recorded({ server }: NodeWorld, root: string) {
  const records = await server.ok('listAuditRecords', { token: root })
  return records
    .filter(({ Method }) => Method === 'GET')
    .map(({ Action, Status, Resources }) => [Action, Status, ...Resources])
    .toReversed()
}

const command = ['/bin/true']

interface Refused {
  readonly name: string
  readonly path: (id: string) => string
  readonly headers?: Readonly<Record<string, string>>
  readonly closed: readonly [number, RegExp]
  readonly record: (id: string) => readonly unknown[]
}

const REFUSED: readonly Refused[] = [
  {
    name: 'an unknown task',
    path: (id) => execPath(id, { task: 'other', command }),
    closed: [1008, /^unknown task name "other"$/],
    record: (id) => ['execAllocation', 400, id, 'job-1', 'other'],
  },
  {
    name: 'an unknown allocation',
    path: () => execPath(NOBODY, { task: 'web', command }),
    closed: [1008, /^Unknown allocation/],
    record: () => ['execAllocation', 404, NOBODY, 'web'],
  },
  {
    name: 'an unknown action of a job',
    path: (id) => `/v1/job/job-1/action?task=web&action=other&allocID=${id}`,
    closed: [1008, /^unknown action name "other"$/],
    record: () => ['runJobAction', 400, 'job-1', 'web'],
  },
  {
    name: 'a page from elsewhere',
    path: (id) => execPath(id, { task: 'web', command }),
    headers: { origin: 'https://evil.example' },
    closed: [403, /^the page has another origin$/],
    record: (id) => ['execAllocation', 403, id, 'job-1', 'web'],
  },
]

for (const { name, path, headers = {}, closed, record } of REFUSED)
  test(`exec: ${name} is recorded when it is refused to a caller with a token`, async (t) => {
    const { world, root, id } = await aSecuredWorld(t)
    const ask = async (token: string) => {
      const sent = { ...headers, 'X-Service-Token': token }
      const [code, reason] = await execClient(world.webSocket(path(id), sent)).closed
      return { code, reason }
    }
    for (const stranger of ['', 'guessed']) await ask(stranger)
    const { code, reason } = await ask(root)
    assert.equal(code, closed[0])
    assert.match(reason, closed[1])
    assert.deepEqual(await recorded(world, root), [record(id)])
  })

test('exec: what a node refuses is recorded', async (t) => {
  const { world, root, id } = await aSecuredWorld(t, false)
  const path = execPath(id, { task: 'web', command })
  const client = execClient(world.webSocket(path, { 'X-Service-Token': root }))
  assert.deepEqual(await client.closed, [1008, 'Permission denied'])
  assert.deepEqual(await recorded(world, root), [
    ['execAllocation', 101, id, 'job-1', 'web'],
    ['execAllocation', 403, id, 'job-1', 'web'],
  ])
})
