import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createClient, type Client } from '@reeve/sdk'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startAgent, startReeve } from './program-process.ts'

const SECRET = '5c2f6b0e-8d8b-4c67-9a53-1d7a2f0b9e11'

/** Free a moment ago: each server has to know where the other will be. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  // A TCP server that listens has this.
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

interface Region {
  readonly address: string
  readonly client: Client
}

/** A server and a node in each of two regions; `us` is the authoritative one. */
async function twoRegions(t: TestContext): Promise<Readonly<Record<'us' | 'eu', Region>>> {
  const ports = { us: await freePort(), eu: await freePort() }
  const start = async (region: 'us' | 'eu'): Promise<Region> => {
    const directory = await temporaryDirectory(t)
    const file = join(directory, 'reeve.hcl')
    const known = (['us', 'eu'] as const).map(
      (name) => `  region "${name}" { addresses = ["127.0.0.1:${ports[name]}"] }`,
    )
    await writeFile(
      file,
      `region = "${region}"
data_dir = "${join(directory, 'data')}"
ports { http = ${ports[region]} }
server {
  enabled = true
  authoritative_region = "us"
${known.join('\n')}
}
acl { replication_token = "${SECRET}" }
client { enabled = true }
plugin "raw_exec" {
  config { enabled = true }
}
`,
    )
    const environment = { XDG_CONFIG_HOME: directory, REEVE_SECRETS_IN_MEMORY: 'false' }
    const agent = startAgent(t, ['--config', file], { environment, lastSignal: 'SIGTERM' })
    const address = `http://127.0.0.1:${ports[region]}`
    await until(`${region} to answer`, async () => {
      if (agent.child.exitCode !== null) throw new Error(`it ended: ${agent.output()}`)
      return await fetch(`${address}/v1/status/leader`).then(
        ({ ok }) => ok || undefined,
        () => undefined,
      )
    })
    return { address, client: createClient({ address, token: SECRET }) }
  }
  return { us: await start('us'), eu: await start('eu') }
}

function sleeper(ID: string) {
  const Config = { command: '/bin/sh', args: ['-c', 'echo in $REEVE_REGION; exec sleep 300'] }
  const Tasks = [{ Name: 'task', Driver: 'raw_exec', Config, Resources: { CPU: 20, MemoryMB: 20 } }]
  return { ID, TaskGroups: [{ Name: 'group', Tasks }] }
}

const running = (client: Client, job: string, region?: string) =>
  until(`${job} to run`, async () => {
    const query = region === undefined ? {} : { region }
    const { data } = await client.v1.listJobAllocations({ params: { job_id: job }, query })
    return data.find(({ ClientStatus }) => ClientStatus === 'running')
  })

test('regions: two programs are one installation', async (t) => {
  const { us, eu } = await twoRegions(t)
  // Bootstrapped from the other region, and its token is there within a second.
  const bootstrap = await fetch(`${eu.address}/v1/acl/bootstrap`, {
    method: 'POST',
    body: JSON.stringify({ BootstrapSecret: SECRET }),
  })
  assert.equal(bootstrap.status, 200, await bootstrap.text())
  await until('the token to be copied', () =>
    eu.client.v1.listJobs({}).then(
      () => true as const,
      () => undefined,
    ),
  )
  assert.deepEqual((await us.client.v1.listRegions({})).data, ['eu', 'us'])
  const body = { Name: 'everywhere', Type: 'management', Global: true }
  const { data: made } = await us.client.v1.createAclToken({ body })
  const askedMs = performance.now()
  const client = createClient({ address: eu.address, token: made.SecretID })
  await until('the new token to be copied', () =>
    client.v1.listJobs({}).then(
      () => true as const,
      () => undefined,
    ),
  )
  const tookMs = performance.now() - askedMs
  assert.ok(tookMs < 1_000, `a token was copied after ${Math.round(tookMs)} ms`)

  await t.test('a job, its events and its tasks are reached through another region', async () => {
    const events = us.client.events({ region: 'eu', topics: ['Job:*'] })
    await us.client.v1.registerJob({ query: { region: 'eu' }, body: { Job: sleeper('far') } })
    const { ID } = await running(us.client, 'far', 'eu')
    assert.equal((await us.client.v1.listJobs({})).data.length, 0)
    for await (const event of events) if (JSON.stringify(event).includes('"far"')) break
    const command = ['/bin/sh', '-c', 'echo $REEVE_REGION; exit 3']
    const session = await us.client.exec({ allocId: ID, task: 'task', command, region: 'eu' })
    const output: Uint8Array[] = []
    for await (const chunk of session.stdout) output.push(chunk)
    assert.equal(Buffer.concat(output).toString(), 'eu\n')
    assert.equal(await session.exit, 3)
  })

  await t.test('the command line asks other regions', async (inner) => {
    const environment = { REEVE_ADDR: us.address, REEVE_TOKEN: SECRET, REEVE_REGION: 'eu' }
    const listing = startReeve(inner, ['job', 'status'], { environment })
    await until('the list', () => listing.output().includes('far') || undefined)
  })

  await t.test('a job of both regions runs in both, one after the other, and stops', async () => {
    const Job = {
      ...sleeper('both'),
      Update: { MinHealthyTime: 100_000_000, HealthCheck: 'task_states' },
      Multiregion: {
        Strategy: { MaxParallel: 1 },
        Regions: [{ Name: 'us' }, { Name: 'eu', Meta: { where: 'east' } }],
      },
    }
    await us.client.v1.registerJob({ body: { Job } })
    await running(us.client, 'both')
    await running(eu.client, 'both')
    const params = { job_id: 'both' }
    for (const region of [us, eu])
      await until('the roll-out to end well', async () => {
        const { data } = await region.client.v1.readLatestDeployment({ params })
        return data?.Status === 'successful' || undefined
      })
    const logs = await fetch(`${us.address}/v1/job/both/logs?region=eu`, {
      headers: { 'x-service-token': SECRET },
    })
    assert.equal(await logs.text(), 'in eu\n')
    await us.client.v1.stopJob({ params, query: { global: true } })
    for (const region of [us, eu])
      assert.equal((await region.client.v1.readJob({ params })).data.Stop, true)
  })
  await eu.client.v1.stopJob({ params: { job_id: 'far' } })
  const { data: self } = await eu.client.v1.readAgentSelf({})
  assert.equal(self.stats['replication']?.['authoritative_region'], 'us')
  assert.ok(Number(self.stats['replication']?.['lag_ms']) < 10_000)
})
