import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Client } from '@reeve/sdk'
import { shellTask } from '../build/cli-jobs.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startAgent, startProgram, type AgentProcess } from './program-process.ts'

/** Nobody joins this server with the shared token. */
const SERVER = `
client { enabled = false }
server { shared_join_token = false }
`

interface NodeOptions {
  readonly address: string
  readonly directory: string
  readonly joinToken: string
}

function startNode(t: TestContext, { address, directory, joinToken }: NodeOptions): AgentProcess {
  const servers = ['--join', new URL(address).host]
  return startAgent(t, ['--client', ...servers, '--data-dir', directory, '--node-name', 'one'], {
    environment: { REEVE_JOIN_TOKEN: joinToken, REEVE_RAW_EXEC: 'true' },
  })
}

async function nodeWith(client: Client, status: string): Promise<string> {
  return await until(`the node to be ${status}`, async () => {
    const { data } = await client.v1.listNodes({})
    return data.find((node) => node.Status === status)?.ID
  })
}

async function secretIn(directory: string): Promise<string> {
  const text = await readFile(join(directory, 'client/agent/node.json'), 'utf8')
  const { secret }: { secret: string } = JSON.parse(text)
  return secret
}

test('a node joins with a token of its own, gets a new secret, and is shut out for good', async (t) => {
  const directory = await temporaryDirectory(t)
  const config = join(directory, 'server.hcl')
  await writeFile(config, SERVER)
  const serverDirectory = join(directory, 'server')
  const nodeDirectory = join(directory, 'node')
  const first = await startProgram(t, serverDirectory, ['--config', config])
  const { data: token } = await first.client.v1.createNodeJoinToken({ body: {} })
  const node = { directory: nodeDirectory, joinToken: token.SecretID }
  const agent = startNode(t, { ...node, address: first.address })
  const node_id = await nodeWith(first.client, 'ready')
  // Nobody can stop the tasks of a node that is shut out: this one ends with its directory.
  const script = `while [ -e ${config} ]; do sleep 0.1; done`
  const TaskGroups = [{ Name: 'group', Count: 1, Tasks: [shellTask('main', script)] }]
  await first.client.v1.registerJob({ body: { Job: { ID: 'web', TaskGroups } } })
  const allocations = async (): Promise<readonly string[]> => {
    const { data } = await first.client.v1.listJobAllocations({ params: { job_id: 'web' } })
    return data.map(({ ID, ClientStatus }) => `${ID} ${ClientStatus}`)
  }
  const running = await until('the job to run', async () => {
    const found = await allocations()
    return found.some((one) => one.endsWith(' running')) ? found : undefined
  })

  const before = await secretIn(nodeDirectory)
  const { data: rotated } = await first.client.v1.rotateNodeSecret({ params: { node_id } })
  assert.equal(rotated.Status, 'rotated')
  assert.notEqual(await secretIn(nodeDirectory), before)
  assert.deepEqual(await allocations(), running, 'its tasks go on')

  // What was confirmed is on the disk: an agent that is killed comes back with the new secret.
  await agent.kill('SIGKILL')
  const second = startNode(t, { ...node, address: first.address })
  await until('the agent to be connected', () =>
    second.output().includes('connected to a server') ? true : undefined,
  )
  await nodeWith(first.client, 'ready')
  await until('its tasks to be taken over', async () =>
    (await allocations()).join() === running.join() ? true : undefined,
  )

  await first.client.v1.revokeNode({ params: { node_id }, body: { Reason: 'test' } })
  await until('the agent to log why', () =>
    second.output().includes('was revoked') ? true : undefined,
  )
  // Answered means durable.
  await first.kill('SIGKILL')
  await second.kill('SIGKILL')
  const again = await startProgram(t, serverDirectory, ['--config', config])
  const { data: revocations } = await again.client.v1.listNodeRevocations({})
  assert.deepEqual(
    revocations.map(({ NodeID, Reason }) => [NodeID, Reason]),
    [[node_id, 'test']],
  )
  const third = startNode(t, { ...node, address: again.address })
  await until('the agent to be refused', () =>
    third.output().includes('was revoked at') ? true : undefined,
  )
  await nodeWith(again.client, 'down')
})
