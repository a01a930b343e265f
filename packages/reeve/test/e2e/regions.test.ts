import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createClient, type Client } from '@reeve/sdk'
import { freePort } from '../build/free-port.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until, whenBusy } from '../build/until.ts'
import { startReeve } from './program-process.ts'
import { bootstrapAt, SECRET, startRegion, type RegionServer } from './region-process.ts'

type Name = 'us' | 'eu'

interface TwoRegions extends Readonly<Record<Name, RegionServer>> {
  /** Starts one again that was killed. */
  readonly restart: (name: Name) => Promise<RegionServer>
}

/** A server and a node in each of two regions; `us` is the authoritative one. */
async function twoRegions(t: TestContext): Promise<TwoRegions> {
  const ports = { us: await freePort(), eu: await freePort() }
  const directories = { us: await temporaryDirectory(t), eu: await temporaryDirectory(t) }
  const known = { us: [`127.0.0.1:${ports.us}`], eu: [`127.0.0.1:${ports.eu}`] }
  const lines = `client { enabled = true }
plugin "raw_exec" {
  config { enabled = true }
}
`
  const start = (region: Name) =>
    startRegion(t, {
      region,
      authoritative: 'us',
      port: ports[region],
      directory: directories[region],
      known,
      lines,
    })
  return { us: await start('us'), eu: await start('eu'), restart: start }
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
  const { us, eu, restart } = await twoRegions(t)
  // Bootstrapped from the other region, and its token is there within a second.
  const bootstrap = await bootstrapAt(eu)
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
  assert.ok(tookMs < whenBusy(1_000), `a token was copied after ${Math.round(tookMs)} ms`)

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

  await t.test('an unavailable region is reported, and the job stops when it is back', async () => {
    const Multiregion = { Regions: [{ Name: 'us' }, { Name: 'eu' }] }
    await us.client.v1.registerJob({ body: { Job: { ...sleeper('apart'), Multiregion } } })
    await running(us.client, 'apart')
    await running(eu.client, 'apart')
    await eu.kill('SIGKILL')
    const stop = { method: 'DELETE', headers: { 'x-service-token': SECRET } }
    const path = `${us.address}/v1/job/apart?global=true&purge=true`
    const answer = await fetch(path, stop)
    assert.equal(answer.status, 503)
    assert.match(
      await answer.text(),
      /^the job is stopped here, and not everywhere: region "eu" did not answer \(.*\)\.\nThere it/,
    )
    const params = { job_id: 'apart' }
    assert.equal((await us.client.v1.readJob({ params })).data.Stop, true)
    // It runs on in the region that knows nothing of it, until it is stopped again.
    await restart('eu')
    await running(eu.client, 'apart')
    assert.equal((await fetch(path, stop)).status, 200)
    for (const { address } of [us, eu])
      assert.equal((await fetch(`${address}/v1/job/apart`, { headers: stop.headers })).status, 404)
  })
  await eu.client.v1.stopJob({ params: { job_id: 'far' } })
  const { data: self } = await eu.client.v1.readAgentSelf({})
  assert.equal(self.stats['replication']?.['authoritative_region'], 'us')
  assert.ok(Number(self.stats['replication']?.['lag_ms']) < 10_000)
})
