/** Groups of containers that share a network on an engine that joins no namespace by its path. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import {
  EngineClient,
  isSuccess,
  tryParseJson,
  stringAt,
  numberAt,
} from '../../src/drivers/docker/engine-client.ts'
import { EngineProxy } from '../build/engine-proxy.ts'
import { Podman, podmanUnavailable, TEST_IMAGE } from '../build/podman.ts'
import { until } from '../build/until.ts'
import { ask, makeMachine, MACHINE } from '../network/machine.ts'
import { inPrivateNetwork, whyNoPrivateNetwork } from '../network/private-network.ts'
import { eventsOf, noIsolation, RealCluster, textOf, type AllocationRow } from './real-cluster.ts'

const JOB = 'shared'
/** Set for the process that is in a network of its own. */
const INSIDE = 'REEVE_TEST_PRIVATE_NETWORK'
const CHILD_MS_MAX = 120_000

interface World {
  readonly cluster: RealCluster
  readonly podman: Podman
  readonly engine: EngineClient
}

/** Says its name on a port until it is ended. */
const SERVER = `hostname > $REEVE_ALLOC_DIR/data/hostname
cat /etc/hosts > $REEVE_ALLOC_DIR/data/hosts
cat /etc/resolv.conf > $REEVE_ALLOC_DIR/data/resolv.conf
echo $REEVE_ALLOC_ADDR_http > $REEVE_ALLOC_DIR/data/address
echo started >> $REEVE_ALLOC_DIR/data/starts
trap 'exit 0' TERM
while :; do echo served | nc -l -p 8080 & wait $!; done`

/** Asks the other container by loopback again and again, and notes the last answer. */
const NEIGHBOUR = `trap 'exit 0' TERM
echo started >> $REEVE_ALLOC_DIR/data/neighbour-starts
while :; do
  nc 127.0.0.1 8080 </dev/null > /tmp/answer 2>/dev/null && cp /tmp/answer $REEVE_ALLOC_DIR/data/answer
  sleep 0.1
done`

const NATIVE = `echo started >> $REEVE_ALLOC_DIR/data/native-starts
readlink /proc/self/ns/net > $REEVE_ALLOC_DIR/data/native-network
exec sleep 600`

function container(Name: string, script: string) {
  const Config = { image: TEST_IMAGE, command: 'sh', args: ['-c', script] }
  return { Name, Driver: 'docker', Config, Resources: { CPU: 1, MemoryMB: 32 }, KillTimeout: 1e9 }
}

async function runJob({ cluster }: World): Promise<AllocationRow> {
  const web = container('web', SERVER)
  await cluster.run({
    ID: JOB,
    TaskGroups: [
      {
        Name: 'pair',
        RestartPolicy: { Attempts: 5, Interval: 600e9, Delay: 1e6, Mode: 'fail' },
        EphemeralDisk: { SizeMB: 300 },
        Networks: [
          {
            Mode: 'bridge',
            Hostname: 'pair-0',
            DNS: { Servers: ['10.0.0.53'], Searches: ['own.example'] },
            DynamicPorts: [{ Label: 'http', To: 8_080 }],
          },
        ],
        Tasks: [
          { ...web, Config: { ...web.Config, ports: ['http'], extra_hosts: ['db:10.0.0.5'] } },
          container('neighbour', NEIGHBOUR),
          {
            Name: 'native',
            Driver: 'exec',
            Config: { command: 'sh', args: ['-c', NATIVE] },
            Resources: { CPU: 1, MemoryMB: 32 },
          },
        ],
      },
    ],
  })
  const row = await cluster.allocation(JOB, 'running')
  await untilServed(cluster, row)
  return row
}

const data = (cluster: RealCluster, { ID }: AllocationRow, name: string): Promise<string> =>
  textOf(cluster.path(ID, 'alloc/data', name))

async function startsOf(cluster: RealCluster, row: AllocationRow, name: string): Promise<number> {
  return (await data(cluster, row, name)).split('\n').length - 1
}

/** The neighbour was answered by loopback, after now. */
async function untilServed(cluster: RealCluster, row: AllocationRow): Promise<void> {
  const path = cluster.path(row.ID, 'alloc/data/answer')
  const since = Date.now()
  await until('the containers to reach each other on 127.0.0.1', async () => {
    const isNew = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
    return isNew > since && (await textOf(path)) === 'served\n' ? true : undefined
  })
}

/** As the engine describes it, with the namespace that its process is in. */
async function pauseOf(
  engine: EngineClient,
  allocationId: string,
): Promise<{ readonly id: string; readonly pid: number; readonly network: number } | undefined> {
  const path = `/containers/reeve-network-${allocationId}/json`
  const answer = await engine.call({ method: 'GET', path })
  // Podman says so in this way of one that is removed at this moment.
  if (answer.status === 404 || answer.body.includes('no such container')) return undefined
  assert.ok(isSuccess(answer), answer.body)
  const found = tryParseJson(answer.body)
  const pid = numberAt(found, 'State', 'Pid')
  return { id: stringAt(found, 'Id'), pid, network: networkOf(pid) }
}

/** The network namespace of a process; 0 if it has ended, which /proc reports in several ways. */
function networkOf(pid: number): number {
  try {
    return statSync(`/proc/${pid}/ns/net`).ino
  } catch {
    return 0
  }
}

const namespaceOf = ({ ID }: AllocationRow): number => statSync(`/run/netns/${ID}`).ino

async function restartWeb({ cluster }: World, row: AllocationRow): Promise<void> {
  const before = await startsOf(cluster, row, 'starts')
  const body = JSON.stringify({ TaskName: 'web' })
  const path = `${cluster.address}/v1/client/allocation/${row.ID}/restart`
  const answer = await fetch(path, { method: 'PUT', body })
  assert.equal(answer.status, 200, await answer.text())
  await until('the task to start again', async () => {
    return (await startsOf(cluster, row, 'starts')) > before ? true : undefined
  })
  await untilServed(cluster, row)
}

/** Neither the other container nor the native task noticed anything. */
async function assertUntouched({ cluster }: World, row: AllocationRow): Promise<void> {
  assert.equal(await startsOf(cluster, row, 'neighbour-starts'), 1)
  assert.equal(await startsOf(cluster, row, 'native-starts'), 1)
}

async function openWorld(t: TestContext): Promise<World> {
  makeMachine()
  const podman = await Podman.open()
  const socketPath = join(podman.dir, 'docker.sock')
  const proxy = await EngineProxy.open({ socketPath, target: podman.socketPath, manner: 'docker' })
  const engine = new EngineClient(podman.socketPath)
  t.after(async () => {
    engine.close()
    await proxy.close()
    await podman.close()
  })
  const settings = `advertise { http = "${MACHINE}" }
plugin "docker" {
  config {
    endpoint = "unix://${socketPath}"
    gc {
      dangling_containers {
        period = "1s"
        creation_grace = "1s"
      }
    }
  }
}
`
  return { cluster: await RealCluster.open(t, settings), podman, engine }
}

async function stories(t: TestContext): Promise<void> {
  const world = await openWorld(t)
  const { cluster, podman, engine } = world
  const row = await runJob(world)
  const first = await pauseOf(engine, row.ID)
  const namespace = namespaceOf(row)

  await t.test('all tasks of the group are in the network of the pause container', async () => {
    assert.equal(first?.network, namespace)
    const native = await data(cluster, row, 'native-network')
    assert.equal(native, `net:[${namespace}]\n`)
    assert.equal(await data(cluster, row, 'hostname'), 'pair-0\n')
    assert.match(await data(cluster, row, 'hosts'), /^172\.30\.64\.2 pair-0\n10\.0\.0\.5 db$/m)
    const resolv = await data(cluster, row, 'resolv.conf')
    assert.equal(resolv, 'nameserver 10.0.0.53\nsearch own.example\n')
    assert.equal(await data(cluster, row, 'address'), '172.30.64.2:8080\n')
  })

  await t.test('a port of the machine leads to the container', async () => {
    const { data: found } = await cluster.client.v1.readAllocation({ params: { alloc_id: row.ID } })
    const port = found.AllocatedResources.Shared.Ports?.[0]?.Value ?? 0
    await until('an answer through the port', async () => {
      return (await ask(MACHINE, port)) === 'served\n' ? true : undefined
    })
  })

  await t.test('agent and engine that restart find the pause container and keep it', async () => {
    await cluster.killNode()
    await podman.kill()
    await podman.start()
    await cluster.startNode()
    await restartWeb(world, row)
    assert.deepEqual(await pauseOf(engine, row.ID), first)
    await assertUntouched(world, row)
  })

  await t.test('one that died joins the network again', async () => {
    const path = `/containers/${first?.id ?? ''}/kill`
    assert.ok(isSuccess(await engine.call({ method: 'POST', path, query: { signal: 'KILL' } })))
    await restartWeb(world, row)
    const next = await pauseOf(engine, row.ID)
    assert.notEqual(next?.pid, first?.pid)
    assert.equal(next?.network, namespace)
    assert.equal(namespaceOf(row), namespace)
    await assertUntouched(world, row)
  })

  await t.test('one of an allocation that is gone is removed', async () => {
    const living = await pauseOf(engine, row.ID)
    const made = await engine.call({ method: 'GET', path: `/containers/${living?.id ?? ''}/json` })
    const agent = stringAt(tryParseJson(made.body), 'Config', 'Labels', 'reeve.agent')
    const Labels = { 'reeve.network': 'gone', 'reeve.agent': agent }
    const body = { Image: TEST_IMAGE, Cmd: ['sleep', '600'], Labels }
    const query = { name: 'reeve-network-gone' }
    const call = { method: 'POST', path: '/containers/create', query, body } as const
    assert.ok(isSuccess(await engine.call(call)))
    await until('it to be removed', async () => {
      return (await pauseOf(engine, 'gone')) === undefined ? true : undefined
    })
    assert.deepEqual(await pauseOf(engine, row.ID), living)
  })

  await t.test('nothing is left after the job', async () => {
    await cluster.client.v1.stopJob({ params: { job_id: JOB } })
    const [ended] = await cluster.allocations(JOB, 'the end', (rows) => {
      return rows.every(({ ClientStatus }) => ClientStatus === 'complete')
    })
    assert.ok(ended !== undefined && eventsOf(ended, 'web').includes('Killed'))
    await until('the pause container and the namespace to be removed', async () => {
      const isGone = statSync(`/run/netns/${row.ID}`, { throwIfNoEntry: false }) === undefined
      return isGone && (await pauseOf(engine, row.ID)) === undefined ? true : undefined
    })
    const links = await readFile('/proc/net/dev', 'utf8')
    assert.equal(/^\s*rv/m.test(links), false)
  })
}

const skip = podmanUnavailable() || noIsolation || (whyNoPrivateNetwork() ?? false)

if (process.env[INSIDE] === undefined) {
  // The machine's own network is never touched: a process of its own runs the stories.
  test('containers share a network through a pause container', { skip }, () => {
    // A runner of its own: it would say nothing where another one is above it.
    const { NODE_TEST_CONTEXT: _, ...own } = process.env
    const environment = { ...own, [INSIDE]: '1' }
    const [program = '', ...args] = inPrivateNetwork(import.meta.filename)
    const options = { encoding: 'utf8', timeout: CHILD_MS_MAX, env: environment } as const
    const { status, stdout, stderr } = spawnSync(program, args, options)
    assert.equal(status, 0, `${stdout}\n${stderr}`)
    assert.match(stdout, /^\S+ pass [1-9]/m)
  })
} else {
  test('in a network of its own', { timeout: CHILD_MS_MAX }, stories)
}
