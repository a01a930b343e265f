import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createClient } from '@reeve/sdk'
import { EXIT_CODES } from '../../src/cli/index.ts'
import { aRegionWorld } from '../api/region-world.ts'
import { aRolloutServer, type RolloutServer } from '../api/rollout.ts'
import { commandLineAt, type Ended } from '../build/cli.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'

/** A job without a deployment: it is watched until its allocations run. */
function jobFile(block: string): string {
  return `job "web" {
  ${block}
  group "app" {
    update {
      max_parallel = 0
    }
    task "main" {
      driver = "raw_exec"
      config {
        command = "/bin/one"
      }
      resources {
        cpu    = 10
        memory = 10
      }
    }
  }
}
`
}

/** Three regions, of which `eu` has a node, and a command line that asks `us`. */
async function aWorld(t: TestContext) {
  const { us, eu } = await aRegionWorld(t, ['us', 'eu', 'down'], { aclEnabled: false })
  const east = await aRolloutServer(eu.server)
  const { address } = us
  const directory = await temporaryDirectory(t)
  const reeve = commandLineAt({ address, client: createClient({ address }), directory })
  return { us, eu, east, reeve }
}

/** Says of all allocations that they run, until the command has ended. */
async function whileRunning(east: RolloutServer, command: Promise<Ended>): Promise<Ended> {
  let ended: Ended | undefined
  void command.then((one) => (ended = one))
  return await until('the command to end', async () => {
    for (const row of east.live())
      if (row.ClientStatus === 'pending') await east.report(row, 'running')
    await east.pass()
    return ended
  })
}

const registered = /^Job "web" is registered \(evaluation [0-9a-f]{8}\)\.\n/

test('job run: a job is watched in the region that its file names', async (t) => {
  const { east, reeve } = await aWorld(t)
  const file = await reeve.file('web.hcl', jobFile('region = "eu"'))
  const { code, out, err } = await whileRunning(east, reeve.run(['job', 'run', file]))
  assert.deepEqual([code, err], [EXIT_CODES.ok, ''])
  assert.match(out, registered)
  assert.equal(east.live().length, 1)
})

test('job run: commands that follow name the region of the file', async (t) => {
  const { reeve } = await aWorld(t)
  const file = await reeve.file('web.hcl', jobFile('region = "eu"'))
  const { code, out } = await reeve.run(['job', 'run', '--detach', file])
  assert.equal(code, EXIT_CODES.ok)
  assert.match(out, /reeve job status --watch web --region eu\n/)
  assert.match(await reeve.ok('job status web --region eu'), /web/)
  const stopped = await reeve.run('job stop web --region eu --detach')
  assert.equal(stopped.code, EXIT_CODES.ok)
})

test('job plan: the plan is that of the region that the file names', async (t) => {
  const { reeve } = await aWorld(t)
  const file = await reeve.file('web.hcl', jobFile('region = "eu"'))
  assert.equal((await reeve.run(['job', 'run', '--detach', file])).code, EXIT_CODES.ok)
  const plan = await reeve.run(['job', 'plan', file])
  assert.deepEqual([plan.code, plan.err], [EXIT_CODES.ok, ''])
  assert.match(plan.out, /Nothing would change/)
  assert.equal((await reeve.run(['job', 'validate', file])).code, EXIT_CODES.ok)
})

test('job run: the command line wins over the file', async (t) => {
  const { east, us, reeve } = await aWorld(t)
  const file = await reeve.file('web.hcl', jobFile('region = "us"'))
  const run = reeve.run(['job', 'run', '--region', 'eu', '--detach', file])
  assert.equal((await run).code, EXIT_CODES.ok)
  assert.equal(east.live().length, 1)
  assert.equal([...us.server.context.store.tables.jobs.keys()].length, 0)
})

test('job run: a multi-region job is watched in the region that has accepted it', async (t) => {
  const { east, reeve } = await aWorld(t)
  const block = 'multiregion {\n    region "eu" {}\n  }'
  const file = await reeve.file('web.hcl', jobFile(block))
  const { code, out, err } = await whileRunning(east, reeve.run(['job', 'run', file]))
  assert.deepEqual([code, err], [EXIT_CODES.ok, ''])
  assert.match(out, registered)
})

test('job run: a region that is away is named', async (t) => {
  const { reeve } = await aWorld(t)
  const file = await reeve.file('web.hcl', jobFile('region = "down"'))
  const { code, err } = await reeve.run(['job', 'run', file])
  assert.equal(code, EXIT_CODES.unreachable)
  assert.match(err, /region "down" did not answer/)
})

test('job run: a region that nobody knows is named, and where it comes from', async (t) => {
  const { reeve } = await aWorld(t)
  const file = await reeve.file('web.hcl', jobFile('region = "mars"'))
  const { code, err } = await reeve.run(['job', 'run', file])
  assert.equal(code, EXIT_CODES.missing)
  assert.match(err, /No path to region[\s\S]*job file sets the region/)
})
